package engine

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/linux/memfd"
	"github.com/coop-dev/coop/internal/sandbox"
)

// TestLife is a sandbox from its create to its delete.
func TestLife(t *testing.T) {
	w := newWorld(t)
	dir := project(t)
	v := w.make(sandbox.Spec{Workspace: sandbox.Workspace{Source: dir}})
	if v.Spec.Name != sandbox.NameFor(dir) || v.Spec.Workspace.Source != dir {
		t.Errorf("%+v", v.Spec)
	}
	if out, said := w.run(v.Spec.Name, "cat file; echo changed >file; touch new; hostname; id -u; echo $COOP_SESSION $IS_SANDBOX"); out.Code != 0 ||
		said != "original\n"+v.Spec.Name+"\n0\n"+v.Spec.Name+" 1" {
		t.Errorf("%+v: %s", out, said)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(b) != "original\n" {
		t.Errorf("the project: %q, %v", b, err)
	}
	stopped, err := w.Stop(t.Context(), string(v.ID), 0, "test")
	if err != nil || stopped.Status != sandbox.Stopped || stopped.PID != 0 || stopped.StoppedAt == nil || alive(v.PID) {
		t.Fatalf("%+v, %v", stopped, err)
	}
	if again, err := w.Stop(t.Context(), string(v.ID), 0, "test"); err != nil || again.Version != stopped.Version {
		t.Errorf("stopping twice: %+v, %v", again, err)
	}
	if _, err := w.Exec(t.Context(), v.Spec.Name, Command{Command: "true"}); sandbox.CodeOf(err) != sandbox.Conflict {
		t.Errorf("a command in a stopped sandbox: %v", err)
	}
	started, err := w.Start(t.Context(), string(v.ID)[:12], "test")
	if err != nil || started.Status != sandbox.Running || started.StoppedAt != nil || !alive(started.PID) {
		t.Fatalf("%+v, %v", started, err)
	}
	if again, err := w.Start(t.Context(), string(v.ID), "test"); err != nil || again.PID != started.PID {
		t.Errorf("starting twice: %+v, %v", again, err)
	}
	if _, said := w.run(string(v.ID), "cat file; ls"); said != "changed\nfile\nnew" {
		t.Errorf("after the restart: %s", said)
	}
	if err := w.Delete(t.Context(), v.Spec.Name, "test"); err != nil {
		t.Fatal(err)
	}
	if alive(started.PID) {
		t.Error("PID 1 lives after the delete")
	}
	w.nothingLeft()
	if err := w.Delete(t.Context(), string(v.ID), "test"); sandbox.CodeOf(err) != sandbox.Gone {
		t.Errorf("deleting twice: %v", err)
	}
	if _, err := w.Get(t.Context(), v.Spec.Name); sandbox.CodeOf(err) != sandbox.NotFound {
		t.Errorf("by its old name: %v", err)
	}
	lines, err := w.Audit(t.Context(), string(v.ID), 100)
	if err != nil {
		t.Fatal(err)
	}
	var story []string
	for _, l := range lines {
		story = append([]string{string(l.To)}, story...)
	}
	if got := strings.Join(story, " "); got != "creating running stopped running deleted" {
		t.Errorf("the audit tells: %s", got)
	}
}

func TestNamesAndKeys(t *testing.T) {
	w := newWorld(t)
	first := w.make(sandbox.Spec{Name: "box"})
	_, _, err := w.Create(t.Context(), sandbox.Spec{Name: "box"}, CreateOptions{})
	var e *sandbox.Error
	if !errors.As(err, &e) || e.Code != sandbox.Conflict || e.Details["existing"] != string(first.ID) {
		t.Errorf("a taken name: %+v", err)
	}
	o := CreateOptions{IdempotencyKey: "key", RequestHash: "hash"}
	keyed, replayed, err := w.Create(t.Context(), sandbox.Spec{}, o)
	if err != nil || replayed {
		t.Fatal(replayed, err)
	}
	same, replayed, err := w.Create(t.Context(), sandbox.Spec{}, o)
	if err != nil || !replayed || same.ID != keyed.ID {
		t.Errorf("%+v, %v, %v", same, replayed, err)
	}
	o.RequestHash = "another"
	if _, replayed, err := w.Create(t.Context(), sandbox.Spec{}, o); sandbox.CodeOf(err) != sandbox.Conflict || replayed {
		t.Errorf("the key for another request: %v", err)
	}
	if err := w.Delete(t.Context(), string(keyed.ID), "test"); err != nil {
		t.Fatal(err)
	}
	o.RequestHash = "hash"
	if _, _, err := w.Create(t.Context(), sandbox.Spec{}, o); sandbox.CodeOf(err) != sandbox.Gone {
		t.Errorf("the key of a deleted one: %v", err)
	}
	if h, err := w.Health(t.Context()); err != nil || h.Sandboxes != 1 || h.Running != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestFailedCreatesLeaveNothing: a PID 1 that ends at once, one that is no
// program, a caller who loses patience, and bad requests.
func TestFailedCreatesLeaveNothing(t *testing.T) {
	w := newWorld(t)
	good := w.Program
	ended, err := os.ReadFile(needProgram(t, "true"))
	if err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string][]byte{"ends at once": ended, "no program": []byte("x")} {
		if w.Program, err = memfd.Program("x", code); err != nil {
			t.Fatal(err)
		}
		v, _, err := w.Create(t.Context(), sandbox.Spec{Name: "box", Workspace: sandbox.Workspace{Source: project(t)}}, CreateOptions{IdempotencyKey: "k"})
		if err == nil {
			t.Errorf("%s: %+v", name, v)
		}
		w.Program.Close()
		w.forgotten("box", "k")
	}
	w.Program = good
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.Create(ctx, sandbox.Spec{Name: "box"}, CreateOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
	w.forgotten("box", "k")
	for name, spec := range map[string]sandbox.Spec{
		"illegal name":  {Name: "B"},
		"no source":     {Workspace: sandbox.Workspace{Source: "/nonexistent/x"}},
		"home":          {Workspace: sandbox.Workspace{Source: w.home}},
		"another image": {Image: "debian"},
	} {
		if v, _, err := w.Create(t.Context(), spec, CreateOptions{}); err == nil {
			t.Errorf("%s: %+v", name, v)
		}
		w.nothingLeft()
	}
	w.make(sandbox.Spec{Name: "box"}) // the name and the range are free again
}

// forgotten: nothing remembers a create that failed, but the audit.
func (w *world) forgotten(name, key string) {
	w.t.Helper()
	w.nothingLeft()
	if v, err := w.Get(w.t.Context(), name); sandbox.CodeOf(err) != sandbox.NotFound {
		w.t.Errorf("a record is left: %+v, %v", v, err)
	}
	if r, err := w.Store.ByKey(w.t.Context(), key); sandbox.CodeOf(err) != sandbox.NotFound {
		w.t.Errorf("the key is used up: %+v, %v", r, err)
	}
	if list, err := w.Store.IDBases(w.t.Context()); err != nil || len(list) != 0 {
		w.t.Errorf("id ranges are held: %v, %v", list, err)
	}
	lines, err := w.Audit(w.t.Context(), "", 1)
	if err != nil || len(lines) != 1 || lines[0].To != sandbox.Deleted || lines[0].Detail == "" {
		w.t.Errorf("the audit tells %+v, %v", lines, err)
	}
}

func TestCreateMany(t *testing.T) {
	w := newWorld(t)
	dir := project(t)
	const n = 4
	views := make([]View, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var err error
			if views[i], _, err = w.Create(t.Context(), sandbox.Spec{Workspace: sandbox.Workspace{Source: dir}}, CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	names, bases := map[string]bool{}, map[uint32]bool{}
	for _, v := range views {
		names[v.Spec.Name], bases[v.IDBase] = true, true
	}
	if len(names) != n || (w.root && len(bases) != n) || w.Running() != n {
		t.Errorf("names %v, id ranges %v, %d run", names, bases, w.Running())
	}
	if err := w.StopAll(t.Context(), 0, "test"); err != nil || w.Running() != 0 {
		t.Errorf("%v, %d run", err, w.Running())
	}
	page, err := w.List(t.Context(), Filter{Status: sandbox.Stopped, Path: dir, Limit: 3})
	if err != nil || page.Total != n || len(page.Views) != 3 || page.Next == "" {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestPID1Killed: a sandbox whose PID 1 the kernel killed is stopped, and can be
// started again.
func TestPID1Killed(t *testing.T) {
	w := newWorld(t)
	changed := make(chan int, 10)
	w.Changed = func(n int) { changed <- n }
	v := w.make(sandbox.Spec{Name: "box"})
	if n := <-changed; n != 1 {
		t.Errorf("%d run", n)
	}
	x, err := w.Exec(t.Context(), "box", Command{Command: "cat", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(v.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if n := <-changed; n != 0 {
		t.Errorf("%d run", n)
	}
	if _, err := x.Wait(t.Context()); sandbox.CodeOf(err) != sandbox.Unavailable {
		t.Errorf("its command: %v", err)
	}
	if _, err := x.Finish(t.Context()); err != nil {
		t.Error(err)
	}
	// The record is written under the sandbox's lock; Start waits for it.
	started, err := w.Start(t.Context(), "box", "test")
	if err != nil || started.Status != sandbox.Running {
		t.Fatalf("%+v, %v", started, err)
	}
	if out, said := w.run("box", "echo back"); out.Code != 0 || said != "back" {
		t.Errorf("%+v: %s", out, said)
	}
}

func TestStopGivesGrace(t *testing.T) {
	w := newWorld(t)
	w.make(sandbox.Spec{Name: "box"})
	x, err := w.Exec(t.Context(), "box", Command{Command: "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.02; done", Attached: true})
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 6)
	if _, err := io.ReadFull(x.Stdout(), b); err != nil {
		t.Fatal(err)
	}
	ended := make(chan Outcome, 1)
	go func() {
		out, err := x.Wait(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
		}
		ended <- out
	}()
	if _, err := w.Stop(t.Context(), "box", 30*time.Second, "test"); err != nil {
		t.Fatal(err)
	}
	if out := <-ended; out.Code != 3 {
		t.Errorf("%+v", out)
	}
	if said, err := io.ReadAll(x.Stdout()); err != nil || string(said) != "bye\n" {
		t.Errorf("%q, %v", said, err)
	}
	if _, err := x.Finish(t.Context()); err != nil {
		t.Error(err)
	}
}
