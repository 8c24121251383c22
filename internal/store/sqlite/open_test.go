package sqlite

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

func put(t *testing.T, s *Store, n int) *sandbox.Record {
	t.Helper()
	rec := box(n)
	if err := s.Create(t.Context(), rec, sandbox.AuditEntry{Event: "create"}); err != nil {
		t.Fatal(err)
	}
	return rec
}

func closed(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantSame(t *testing.T, s *Store, want *sandbox.Record) {
	t.Helper()
	got, err := s.Get(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("differs (-want +got):\n%s", diff)
	}
}

// wantUnavailable checks code, words of the message and that the hint names
// what it is about.
func wantUnavailable(t *testing.T, err error, message, hint string) {
	t.Helper()
	var e *sandbox.Error
	if !errors.As(err, &e) || e.Code != sandbox.Unavailable {
		t.Fatalf("got %v, want unavailable", err)
	}
	if !strings.Contains(e.Message, message) || !strings.Contains(e.Hint, hint) {
		t.Fatalf("message %q, hint %q; want %q and %q in them", e.Message, e.Hint, message, hint)
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coop.db")
	first := reopen(t, path)
	rec := put(t, first, 1)
	closed(t, first)
	second := reopen(t, path)
	wantSame(t, second, rec)
	third := reopen(t, path) // while the second has it open
	rec.Status = sandbox.Running
	if err := third.Update(t.Context(), rec, sandbox.AuditEntry{}); err != nil {
		t.Fatal(err)
	}
	wantSame(t, second, rec)
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{
		"with space", "ünïcödé 日本", "q?mode=memory", "a#b", "100%", "%41", "%zz", "a&b=c", ":memory:", "file:x", "a'b\"c", "a;b", "new\nline", "\xff",
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			s := reopen(t, filepath.Join(dir, name+".db"))
			put(t, s, 1)
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range files {
				got = append(got, f.Name())
			}
			if diff := cmp.Diff([]string{name + ".db", name + ".db-shm", name + ".db-wal"}, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, reopen(t, "?.db"), 1)
	if _, err := os.Stat("?.db"); err != nil {
		t.Error(err)
	}
}

func TestFileMode(t *testing.T) {
	for name, before := range map[string]fs.FileMode{"new": 0, "too open": 0o644} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "coop.db")
			if before != 0 {
				if err := os.WriteFile(path, nil, before); err != nil {
					t.Fatal(err)
				}
			}
			put(t, reopen(t, path), 1)
			for _, suffix := range []string{"", "-wal", "-shm"} {
				info, err := os.Stat(path + suffix)
				if err != nil {
					t.Fatal(err)
				}
				if info.Mode() != 0o600 {
					t.Errorf("%s: mode %v", info.Name(), info.Mode())
				}
			}
		})
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(filepath.Join(dir, "elsewhere.db"), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, link} {
		_, err := Open(t.Context(), path, Options{})
		wantUnavailable(t, err, "not a regular file", path)
	}
	if _, err := os.Stat(filepath.Join(dir, "elsewhere.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link was followed: %v", err)
	}
}

// TestOpenTogether is two daemons started at once on a new home.
func TestOpenTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coop.db")
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			s, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Create(t.Context(), box(n), sandbox.AuditEntry{Event: "create"}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	page, err := reopen(t, path).List(t.Context(), store.Filter{})
	if err != nil || page.Total != 8 {
		t.Errorf("total %d, %v", page.Total, err)
	}
}

func TestOpenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the daemon stops")
	cancel(reason)
	_, err := Open(ctx, filepath.Join(t.TempDir(), "coop.db"), Options{})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) {
		t.Error(err)
	}
}

// TestUnreadableRecord has a middle row that is no record: lists leave it out
// and say so in the log, everything that asks for it alone fails and names it.
func TestUnreadableRecord(t *testing.T) {
	for name, doc := range map[string]string{"not JSON": `{"id":`, "other types": `{"spec":[]}`, "empty": ``} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s, err := Open(t.Context(), filepath.Join(t.TempDir(), "coop.db"), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // not what is tested
			oldest, bad, newest := put(t, s, 1), put(t, s, 2), put(t, s, 3)
			if _, err := s.writer.Exec(`UPDATE sandboxes SET record = ? WHERE id = ?`, doc, bad.ID); err != nil {
				t.Fatal(err)
			}
			wantListed(t, s, store.Filter{Limit: 1}, newest.ID, oldest.ID)
			wantListed(t, s, store.Filter{Labels: map[string]string{"team": "red"}}, newest.ID, oldest.ID)
			if !strings.Contains(log.String(), "sandbox="+string(bad.ID)) {
				t.Errorf("log: %s", log.String())
			}
			if _, err := s.Get(t.Context(), bad.ID); sandbox.CodeOf(err) != sandbox.Internal || !strings.Contains(err.Error(), string(bad.ID)) {
				t.Error(err)
			}
		})
	}
}

// wantListed reads all pages.
func wantListed(t *testing.T, s *Store, f store.Filter, want ...sandbox.ID) {
	t.Helper()
	var got []sandbox.ID
	for {
		page, err := s.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range page.Records {
			got = append(got, rec.ID)
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coop.db")
	holder := reopen(t, path)
	tx, err := holder.writer.BeginTx(t.Context(), nil) // immediate: it has the write lock
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // it only locks
	other, err := Open(t.Context(), path, Options{BusyTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // not what is tested
	wantUnavailable(t, other.Append(t.Context(), sandbox.AuditEntry{}), "locked by another process", path)
	if _, err := other.List(t.Context(), store.Filter{}); err != nil {
		t.Errorf("reading while another writes: %v", err)
	}
}
