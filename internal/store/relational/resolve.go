package relational

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/coop-dev/coop/internal/sandbox"
)

// maxCandidates bounds what an ambiguous prefix lists.
const maxCandidates = 8

// Resolve implements store.Store. A prefix has at least four characters; one
// that only deleted sandboxes have is Gone.
func (s *Store) Resolve(ctx context.Context, ref string) (*sandbox.Record, error) {
	op := "find sandbox " + shown(ref)
	rec, err := s.one(ctx, s.reads.byName, ref)
	if errors.Is(err, sql.ErrNoRows) {
		rec, err = s.one(ctx, s.reads.byID, ref)
	}
	if errors.Is(err, sql.ErrNoRows) {
		rec, err = s.byPrefix(ctx, op, ref)
	}
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	if rec.Status == sandbox.Deleted {
		return nil, gone(op)
	}
	return rec, nil
}

func (s *Store) byPrefix(ctx context.Context, op, prefix string) (*sandbox.Record, error) {
	missing := sandbox.Errorf(sandbox.NotFound, "%s: no such sandbox", op).WithHint("coop ls -a lists them all")
	if !sandbox.ValidID(prefix) {
		return nil, missing
	}
	found, err := s.candidates(ctx, prefix)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, missing
	case !found[0].live: // live ones come first
		return nil, gone(op)
	case len(found) > 1 && found[1].live:
		return nil, ambiguous(op, found)
	}
	rec, err := s.one(ctx, s.reads.byID, found[0].id)
	if errors.Is(err, sql.ErrNoRows) { // purged between the two reads
		return nil, missing
	}
	return rec, err
}

type candidate struct {
	id, name string
	live     bool
}

// candidates finds one more than maxCandidates, to know whether there are more.
func (s *Store) candidates(ctx context.Context, prefix string) ([]candidate, error) {
	rows, err := s.reads.byPrefix.QueryContext(ctx, prefix, prefix+"{", maxCandidates+1) // { follows z
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var found []candidate
	for rows.Next() {
		var c candidate
		if err := rows.Scan(&c.id, &c.name, &c.live); err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, rows.Err()
}

func ambiguous(op string, found []candidate) error {
	var ids, lines []string
	for _, c := range found[:min(len(found), maxCandidates)] {
		if c.live {
			ids = append(ids, c.id)
			lines = append(lines, fmt.Sprintf("%s (%s)", c.id, c.name))
		}
	}
	if len(found) > maxCandidates && found[maxCandidates].live {
		lines = append(lines, "more")
	}
	return sandbox.Errorf(sandbox.Invalid, "%s: the prefix is ambiguous: %s", op, strings.Join(lines, ", ")).
		WithDetail("candidates", ids).
		WithHint("give more characters, or the name")
}

func gone(op string) error {
	return sandbox.Errorf(sandbox.Gone, "%s: it is deleted", op).WithHint("coop ls -a lists those that are left")
}

// shown makes what somebody typed fit for one line of a message.
func shown(ref string) string {
	const most = 80
	if len(ref) > most {
		ref = ref[:most] + "…"
	}
	if sandbox.ValidName(ref) {
		return ref
	}
	return fmt.Sprintf("%q", ref)
}
