package engine

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

// record writes a record no engine made, with or without its directory.
func (w *world) record(name string, status sandbox.Status, dir bool) sandbox.ID {
	w.t.Helper()
	spec := sandbox.Spec{Name: name}.WithDefaults()
	r := &sandbox.Record{ID: sandbox.NewID(time.Now()), Spec: spec, Status: status, ReviewStatus: sandbox.ReviewPending, CreatedAt: time.Now().UTC()}
	if w.root {
		var err error
		if r.IDBase, err = w.bases.take(); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.Store.Create(w.t.Context(), r, created(r, "test")); err != nil {
		w.t.Fatal(err)
	}
	if dir {
		if err := os.MkdirAll(filepath.Join(w.dir(r.ID), "upper"), 0o700); err != nil {
			w.t.Fatal(err)
		}
	}
	return r.ID
}

// status is what has become of a record: empty for one that was purged.
func (w *world) status(id sandbox.ID) sandbox.Status {
	w.t.Helper()
	r, err := w.Store.Get(w.t.Context(), id)
	if sandbox.CodeOf(err) == sandbox.NotFound && err != nil {
		return ""
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Status
}

// TestRecoverTable is the table above Recover, where no PID 1 is left.
func TestRecoverTable(t *testing.T) {
	w := newWorld(t)
	type line struct {
		status sandbox.Status
		dir    bool
		want   sandbox.Status
	}
	var ids []sandbox.ID
	table := map[string]line{
		"a": {sandbox.Creating, true, ""},
		"b": {sandbox.Creating, false, ""},
		"c": {sandbox.Running, false, sandbox.Deleted},
		"d": {sandbox.Stopped, false, sandbox.Deleted},
		"e": {sandbox.Running, true, sandbox.Stopped},
		"f": {sandbox.Frozen, true, sandbox.Stopped},
		"g": {sandbox.Stopped, true, sandbox.Stopped},
		"h": {sandbox.Failed, true, sandbox.Failed},
		"i": {sandbox.Failed, false, sandbox.Deleted},
	}
	names := map[sandbox.ID]string{}
	for name, l := range table {
		id := w.record(name, l.status, l.dir)
		ids = append(ids, id)
		names[id] = name
	}
	stray, doomed := filepath.Join(w.home, "sandboxes", "0123456789abcdef"), filepath.Join(w.home, "sandboxes", ".deleted-0123")
	for _, d := range []string{stray, doomed} {
		if err := os.MkdirAll(filepath.Join(d, "upper"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	found := w.again()
	if found != (Found{Stopped: 4, Unfinished: 5, Strays: 1}) {
		t.Errorf("%+v", found)
	}
	for _, id := range ids {
		l := table[names[id]]
		if got := w.status(id); got != l.want {
			t.Errorf("%s, directory %v: %q, want %q", l.status, l.dir, got, l.want)
		}
		_, err := os.Stat(w.dir(id))
		if kept := l.want != "" && l.want != sandbox.Deleted; kept != (err == nil) {
			t.Errorf("%s, directory %v: afterwards %v", l.status, l.dir, err)
		}
		// Only what is left holds its name.
		if held := w.names.id(names[id]) != ""; held != (l.want != "" && l.want != sandbox.Deleted) {
			t.Errorf("%s, directory %v: name held %v", l.status, l.dir, held)
		}
	}
	for _, d := range []string{stray, doomed} {
		if _, err := os.Stat(d); err == nil {
			t.Errorf("%s is left", d)
		}
	}
	if again := w.again(); again != (Found{Stopped: 4}) {
		t.Errorf("the second recovery found %+v", again)
	}
}

func TestRecoverNothing(t *testing.T) {
	w := newWorld(t)
	if found, err := w.Recover(t.Context()); err != nil || found != (Found{}) {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestRecoverRunning: a sandbox outlives its daemon; an attached command goes on
// and is concluded, one of a plain request is killed.
func TestRecoverRunning(t *testing.T) {
	w := newWorld(t)
	v := w.make(sandbox.Spec{Name: "box"})
	for _, attached := range []bool{true, false} {
		x, err := w.Exec(t.Context(), "box", Command{Command: "echo $$; exec sleep 600", Attached: attached})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(x.Stdout(), make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if found := w.again(); found != (Found{Running: 1}) {
		t.Errorf("%+v", found)
	}
	after, err := w.Get(t.Context(), "box")
	if err != nil || after.PID != v.PID || after.Status != sandbox.Running {
		t.Fatalf("%+v, %v", after, err)
	}
	if out, said := w.run("box", "echo back"); out.Code != 0 || said != "back" {
		t.Errorf("%+v: %s", out, said)
	}
	w.eventually("the plain command is killed, the attached one goes on", func() bool {
		list, err := w.Processes(t.Context(), "box")
		return err == nil && len(list) == 1
	})
}

// eventually waits for something that happens on its own, asking the kernel
// again and again: every question is a round trip to PID 1.
func (w *world) eventually(what string, is func() bool) {
	w.t.Helper()
	deadline, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	for !is() {
		if deadline.Err() != nil {
			w.t.Fatalf("not so: %s", what)
		}
	}
}

// TestRecoverAfterPID1: the machine or PID 1 went down with the daemon.
func TestRecoverAfterPID1(t *testing.T) {
	w := newWorld(t)
	v := w.make(sandbox.Spec{Name: "box"})
	w.Engine.Close()
	p, err := os.FindProcess(v.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = p.Wait() // it is our child, or nobody's
	if found := w.again(); found != (Found{Stopped: 1}) {
		t.Errorf("%+v", found)
	}
	if got := w.status(v.ID); got != sandbox.Stopped {
		t.Errorf("status %s", got)
	}
	if _, err := w.Start(t.Context(), "box", "test"); err != nil {
		t.Error(err)
	}
}

// TestRecoverACreateThatWasInterrupted ends the PID 1 nobody was given.
func TestRecoverACreateThatWasInterrupted(t *testing.T) {
	w := newWorld(t)
	v := w.make(sandbox.Spec{Name: "box"})
	page, err := w.Store.List(t.Context(), store.Filter{})
	if err != nil || len(page.Records) != 1 {
		t.Fatal(page, err)
	}
	// As if the daemon had ended before it wrote "running".
	r := *page.Records[0]
	w.leave()
	w.open()
	if err := w.Store.Purge(t.Context(), r.ID, created(&r, "test")); err != nil {
		t.Fatal(err)
	}
	r.Status, r.Version = sandbox.Creating, 0
	if err := w.Store.Create(t.Context(), &r, created(&r, "test")); err != nil {
		t.Fatal(err)
	}
	if found, err := w.Recover(t.Context()); err != nil || found != (Found{Unfinished: 1}) {
		t.Errorf("%+v, %v", found, err)
	}
	if alive(v.PID) {
		t.Error("its PID 1 lives")
	}
	w.nothingLeft()
	w.make(sandbox.Spec{Name: "box"})
}

// TestLostDatabaseCostsNoWork: what was written in a sandbox that no record
// knows is left where it is.
func TestLostDatabaseCostsNoWork(t *testing.T) {
	w := newWorld(t)
	work := filepath.Join(w.home, "sandboxes", "0123456789abcdef", "upper", "workspace")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "file"), []byte("work"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.home, "sandboxes", "0123456789abcdef", "state.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if found := w.again(); found.Strays != 1 {
			t.Errorf("%+v", found)
		}
		if _, err := os.Stat(filepath.Join(work, "file")); err != nil {
			t.Error(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(w.home, "sandboxes", "0123456789abcdef")); err != nil {
		t.Error(err)
	}
}
