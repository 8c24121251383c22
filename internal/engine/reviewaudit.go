package engine

import (
	"context"
	"path/filepath"

	"github.com/coop-dev/coop/internal/sandbox"
)

// AuditOf reads who put a file of a project there, newest first.
func (e *Engine) AuditOf(ctx context.Context, file string, limit int) ([]sandbox.AuditEntry, error) {
	var out []sandbox.AuditEntry
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) { // the project is one of the directories above
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return nil, err
		}
		lines, err := e.Store.AuditOf(ctx, dir, rel, limit)
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
		if dir == filepath.Dir(dir) {
			return newestFirst(out, limit), nil
		}
	}
}

func newestFirst(list []sandbox.AuditEntry, limit int) []sandbox.AuditEntry {
	for i := 1; i < len(list); i++ { // a few sorted runs
		for j := i; j > 0 && list[j].Seq > list[j-1].Seq; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return list[:min(len(list), limit)]
}
