package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
)

// TestLogStaysBounded writes ten times what a checkpoint is due after, and
// waits for each checkpoint: the log is used again instead of growing.
func TestLogStaysBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coop.db")
	s := reopen(t, path)
	folded := make(chan error, 10) // room for all, so that a failed test still closes
	s.checkpoints.close()
	s.checkpoints = startCheckpointer(s.log, func(ctx context.Context) error {
		err := s.checkpoint(ctx)
		folded <- err
		return err
	})
	var first int64
	for range 10 {
		for range checkpointEvery {
			if err := s.Append(t.Context(), sandbox.AuditEntry{Event: "exec"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-folded; err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = info.Size()
		}
		if info.Size() > 2*first {
			t.Fatalf("the log has %d bytes, and had %d after the first checkpoint", info.Size(), first)
		}
	}
}
