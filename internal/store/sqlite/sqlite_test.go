package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/coop-dev/coop/internal/store"
	"github.com/coop-dev/coop/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return reopen(t, filepath.Join(t.TempDir(), "coop.db"))
	})
}

// reopen opens the database at path and closes it when the test ends.
func reopen(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
