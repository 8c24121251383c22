package sqlite

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
)

// TestKillDuringWrites kills a writer without warning, again and again on the
// same file: every write it has acknowledged is there, none is half there.
func TestKillDuringWrites(t *testing.T) {
	if path := os.Getenv("COOP_TEST_WRITER"); path != "" {
		writeForEver(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "coop.db")
	acknowledged := map[sandbox.ID]bool{}
	for round := range 5 {
		for _, id := range killedAfter(t, path, 100+37*round) {
			acknowledged[id] = true
		}
		checkSurvivors(t, path, acknowledged)
	}
}

// killedAfter starts a writer, kills it after n acknowledged writes and gives
// all that it acknowledged until it was dead.
func killedAfter(t *testing.T, path string, n int) (ids []sandbox.ID) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	child := again(t, "COOP_TEST_WRITER="+path)
	child.ExtraFiles = []*os.File{w}
	err = child.Start()
	_ = w.Close() // the child has its own; with ours open there would be no end of file
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		ids = append(ids, sandbox.ID(lines.Text()))
		if len(ids) == n {
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := child.Wait(); err == nil || len(ids) < n {
		t.Fatalf("the writer ended by itself after %d writes: %v", len(ids), err)
	}
	return ids
}

// writeForEver creates and updates, and tells every id on descriptor 3 when
// both have been acknowledged. A write takes far longer than a kill, so most
// kills meet one.
func writeForEver(t *testing.T, path string) {
	s := reopen(t, path)
	out := os.NewFile(3, "acknowledged")
	for n := os.Getpid() * 100000; ; n++ {
		rec := box(n)
		if err := s.Create(t.Context(), rec, sandbox.AuditEntry{Event: "create"}); err != nil {
			t.Fatal(err)
		}
		rec.Status = sandbox.Running
		if err := s.Update(t.Context(), rec, sandbox.AuditEntry{Event: "transition"}); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(out, rec.ID); err != nil {
			t.Fatal(err) // nobody listens any more
		}
	}
}

func checkSurvivors(t *testing.T, path string, acknowledged map[sandbox.ID]bool) {
	t.Helper()
	s := reopen(t, path)
	defer closed(t, s)
	for id := range acknowledged {
		rec, err := s.Get(t.Context(), id)
		if err != nil {
			t.Fatalf("an acknowledged write is lost: %v", err)
		}
		if rec.Status != sandbox.Running || rec.Version != 2 {
			t.Fatalf("%s: an acknowledged update is lost: %s, version %d", id, rec.Status, rec.Version)
		}
	}
	var integrity string
	var versions, lines int
	err := s.reader.QueryRow(`SELECT (SELECT integrity_check FROM pragma_integrity_check), sum(version),
		(SELECT count(*) FROM audit) FROM sandboxes`).Scan(&integrity, &versions, &lines)
	if err != nil || integrity != "ok" || versions != lines {
		t.Fatalf("integrity %s, %d writes, %d audit lines: %v", integrity, versions, lines, err)
	}
}
