package engine

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/volume"
)

func TestAreas(t *testing.T) {
	dir := project(t)
	for _, d := range []string{"a/b", "ab"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a/b", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for pair, want := range map[[2]string]bool{
		{"a", "a"}: true, {"a", "ab"}: false, {"a", "a/b"}: true, {"a/b", "a"}: true, {"a/b", "ab"}: false,
		{".", "ab/new/deep"}: true, {"new", "new/x"}: true, {"new", "news"}: false, {"new/x", "new/y"}: false,
		{"link", "a/b"}: true, {"link/new", "a/b/new"}: true, {"link", "a"}: true, {"link", "ab"}: false, {"link/x", "a/b/y"}: false,
	} {
		a, b := areaOf(filepath.Join(dir, pair[0]), ""), areaOf(filepath.Join(dir, pair[1]), "")
		if a.overlaps(b) != want || b.overlaps(a) != want {
			t.Errorf("%q: overlap is not %v", pair, want)
		}
	}
}

// Of many creates that reserve the same place one wins.
func TestReserveRace(t *testing.T) {
	w := newWorld(t)
	dir := project(t)
	const many = 8
	var made sync.Map
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			spec := sandbox.Spec{Workspace: sandbox.Workspace{Source: dir}, Reserve: []string{"x"}}
			v, _, err := w.Create(t.Context(), spec, CreateOptions{Actor: "test"})
			switch {
			case err == nil:
				made.Store(i, v)
			case sandbox.CodeOf(err) != sandbox.Conflict:
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	made.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d sandboxes have reserved it", n)
	}
	w.again()
	_, _, err := w.Create(t.Context(), sandbox.Spec{Workspace: sandbox.Workspace{Source: dir}, Reserve: []string{"."}}, CreateOptions{})
	if sandbox.CodeOf(err) != sandbox.Conflict {
		t.Errorf("after a restart: %v", err)
	}
}

// A create that fails holds nothing.
func TestFailedCreateHoldsNothing(t *testing.T) {
	w := newWorld(t)
	spec := sandbox.Spec{
		Workspace: sandbox.Workspace{Source: "vol", Mode: sandbox.ModeVolume}, Reserve: []string{"."}, Persist: []string{".x"},
		Mounts: []sandbox.Mount{{Source: "data", Target: "/data", Write: true}, {Source: "/no/such/place", Target: "/mnt/x"}},
	}
	if _, _, err := w.Create(t.Context(), spec, CreateOptions{Actor: "test"}); err == nil {
		t.Fatal("made")
	}
	for k, name := range map[VolumeKind]string{NamedWorkspace: "vol", NamedVolume: "data"} {
		if err := w.RemoveVolume(t.Context(), k, name); err != nil {
			t.Error(err)
		}
	}
	if len(w.holds.users) != 0 || len(w.holds.reserved) != 0 {
		t.Errorf("held: %v %v", w.holds.users, w.holds.reserved)
	}
	if left, _ := os.ReadDir(filepath.Join(w.home, "persist")); len(left) != 0 {
		t.Errorf("kept: %v", left)
	}
}

// Two sandboxes of real root have different ids on the host and see the same
// files as their own; on disk these belong to neither, and never to root.
func TestVolumesHaveTheirOwnIDs(t *testing.T) {
	w := newWorld(t)
	spec := sandbox.Spec{
		Workspace: sandbox.Workspace{Source: "vol", Mode: sandbox.ModeVolume}, Persist: []string{".x"}, Cache: []string{"~/.c"},
		Mounts: []sandbox.Mount{{Source: "data", Target: "/data", Write: true}},
	}
	for _, name := range []string{"one", "two"} {
		spec.Name = name
		w.make(spec)
		out, said := w.run(name, "for d in . /data ~/.x ~/.c; do stat -c %u:%g $d; test -e $d/f && stat -c %u:%g $d/f; echo x >$d/f; done")
		if out.Code != 0 || strings.Trim(said, "0:\n") != "" {
			t.Errorf("%s: %+v %q", name, out, said)
		}
	}
	if _, err := w.PromoteCaches(t.Context(), "one", false, "test"); err != nil {
		t.Error(err)
	}
	if !w.root {
		return
	}
	for _, file := range []string{"workspaces/vol/f", "volumes/data/f", "persist/" + volume.Key("volume:vol") + "/.x/f", "cache/shared/~%2F.c/2/f"} {
		st, err := os.Lstat(filepath.Join(w.home, file))
		if err != nil {
			t.Error(err)
			continue
		}
		if sys := st.Sys().(*syscall.Stat_t); sys.Uid != idmap.Volumes || sys.Gid != idmap.Volumes {
			t.Errorf("%s belongs to %d:%d", file, sys.Uid, sys.Gid)
		}
	}
	if err := w.Delete(t.Context(), "one", "test"); err != nil {
		t.Error(err)
	}
	if err := w.Delete(t.Context(), "two", "test"); err != nil {
		t.Error(err)
	}
	if _, err := w.PruneCaches(t.Context(), false); err != nil { // the tests share their cache
		t.Error(err)
	}
}

// Memory outlives a PID 1 that was killed: its changes can be reviewed, and the
// next start has them.
func TestMemoryOutlivesPID1(t *testing.T) {
	w := newWorld(t)
	v := w.make(sandbox.Spec{Name: "box", Upper: "tmpfs", Workspace: sandbox.Workspace{Source: project(t)}})
	if out, said := w.run("box", "echo precious >new"); out.Code != 0 {
		t.Fatal(out, said)
	}
	w.again()
	l := w.running(v.ID)
	_ = l.init.Kill(t.Context()) // the engine may let go of it while we wait
	<-l.init.Lost()
	w.settled(v.ID)
	r, err := w.Store.Get(t.Context(), v.ID)
	if err != nil {
		t.Fatal(err)
	}
	if pending, err := w.Engine.pending(t.Context(), r); err != nil || !pending {
		t.Errorf("pending %v %v", pending, err)
	}
	if n := w.busy(); n != 1 {
		t.Errorf("the daemon would leave: %d", n)
	}
	if _, err := w.Start(t.Context(), "box", "test"); err != nil {
		t.Fatal(err)
	}
	if _, said := w.run("box", "cat new"); said != "precious" {
		t.Errorf("lost: %q", said)
	}
	_, err = w.Stop(t.Context(), "box", 0, "test")
	if sandbox.CodeOf(err) != sandbox.Conflict {
		t.Errorf("stop: %v", err)
	}
}

// settled waits until the engine has noted that a sandbox is gone: lost holds its
// lock while it does.
func (w *world) settled(id sandbox.ID) {
	for {
		unlock := w.locks.lock(id)
		gone := w.running(id) == nil
		unlock()
		if gone {
			return
		}
		runtime.Gosched()
	}
}

// The default keeps nothing of a project that has nothing to keep.
func TestNothingKeptLeavesNothing(t *testing.T) {
	w := newWorld(t)
	v := w.make(sandbox.Spec{Workspace: sandbox.Workspace{Source: project(t)}, Persist: sandbox.DefaultPersist()})
	if keys, err := w.kept.Keys(); err != nil || len(keys) != 1 {
		t.Errorf("%v %v", keys, err)
	}
	if err := w.Delete(t.Context(), string(v.ID), "test"); err != nil {
		t.Fatal(err)
	}
	if keys, err := w.kept.Keys(); err != nil || len(keys) != 0 {
		t.Errorf("left: %v %v", keys, err)
	}
}

func TestDiskUsageAddsUp(t *testing.T) {
	w := newWorld(t)
	w.make(sandbox.Spec{Name: "box", Mounts: []sandbox.Mount{{Source: "data", Target: "/data", Write: true}}})
	if out, said := w.run("box", "dd if=/dev/zero of=/data/x bs=1024 count=2048 2>/dev/null; sync"); out.Code != 0 {
		t.Fatal(out, said)
	}
	lines, total, err := w.DiskUsage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, l := range lines {
		sum += l.Bytes
		if l.Kind == "volumes" && (l.Bytes < 2<<20 || l.ReclaimableBytes != 0 || l.Active != 1) {
			t.Errorf("%+v", l)
		}
	}
	if sum < total {
		t.Errorf("the lines have %d of %d bytes", sum, total)
	}
}
