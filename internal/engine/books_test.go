package engine

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/internal/linux/cgroup"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/sandbox"
)

// TestLocks: one at a time for a sandbox, and nothing is kept of those that are
// free.
func TestLocks(t *testing.T) {
	var l locks
	var inside [2]atomic.Int32
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			n := i % 2
			unlock := l.lock(sandbox.ID(fmt.Sprint(n)))
			if inside[n].Add(1) != 1 {
				t.Error("two at once")
			}
			inside[n].Add(-1)
			unlock()
		})
	}
	wg.Wait()
	if len(l.held) != 0 {
		t.Errorf("%d locks are kept", len(l.held))
	}
	unlock := l.lock("a")
	l.lock("b")() // another sandbox does not wait
	unlock()
}

func TestBases(t *testing.T) {
	var b bases
	seen := map[uint32]bool{}
	for range 10 {
		base, err := b.take()
		if err != nil || seen[base] {
			t.Fatal(base, err)
		}
		seen[base] = true
	}
	b.release(idmap.First + 3*idmap.Range)
	if base, err := b.take(); err != nil || base != idmap.First+3*idmap.Range {
		t.Errorf("%#x, %v", base, err)
	}
	b.release(12345) // nobody's
	for slot := range uint32(0x1000) {
		b.hold(idmap.First + slot*idmap.Range)
	}
	if base, err := b.take(); sandbox.CodeOf(err) != sandbox.Exhausted {
		t.Errorf("%#x, %v", base, err)
	}
}

func TestNames(t *testing.T) {
	var n names
	record := func(name, source string) *sandbox.Record {
		return &sandbox.Record{ID: "id-" + sandbox.ID(name), Spec: sandbox.Spec{Name: name, Workspace: sandbox.Workspace{Source: source}}}
	}
	for _, c := range []struct{ name, source, want string }{
		{"", "", "sandbox"},
		{"", "", "sandbox-2"},
		{"", "/home/me/My Project", "my-project"},
		{"", "/other/My Project", "my-project-2"},
		{"my-project-3", "", "my-project-3"},
		{"", "/home/me/My Project", "my-project-4"},
	} {
		if got, err := n.take(record(c.name, c.source)); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if _, err := n.take(record("sandbox", "")); sandbox.CodeOf(err) != sandbox.Conflict {
		t.Error(err)
	}
	if n.id("my-project-3") != "id-my-project-3" || n.id("nobody") != "" {
		t.Error("a name leads to another sandbox")
	}
	n.release("sandbox")
	n.release("nobody")
	if got, err := n.take(record("", "")); err != nil || got != "sandbox" {
		t.Errorf("%q, %v", got, err)
	}
	n.note("found", "x")
	if n.id("found") != "x" {
		t.Error("a noted name is not known")
	}
}

func TestFilters(t *testing.T) {
	var f filters
	def, err := f.get("default", false, nil)
	if err != nil || len(def) == 0 || len(def)%8 != 0 {
		t.Fatal(len(def), err)
	}
	again, err := f.get("default", false, nil)
	if err != nil || &again[0] != &def[0] {
		t.Error("compiled twice")
	}
	strict, err := f.get("strict", false, nil)
	if err != nil || bytes.Equal(strict, def) {
		t.Errorf("strict is default: %v", err)
	}
	if _, err := f.get("nonsense", false, nil); err == nil {
		t.Error("an unknown profile")
	}
	if _, err := f.get("nonsense", false, nil); err == nil {
		t.Error("an unknown profile, the second time")
	}
}

func TestOwnerInside(t *testing.T) {
	for user, want := range map[string][2]uint32{
		"root": {0, 0}, "me": {0, 0}, "1000": {1000, 1000}, "1000:100": {1000, 100}, "0:5": {0, 5},
		"70000": {0, 0}, "65535": {65535, 65535}, "1000:70000": {1000, 1000}, "1000:": {1000, 1000}, "": {0, 0},
	} {
		if uid, gid := ownerInside(user); uid != want[0] || gid != want[1] {
			t.Errorf("%q: %d:%d", user, uid, gid)
		}
	}
}

func TestClearLimit(t *testing.T) {
	for _, name := range []string{cgroup.CPU, cgroup.Memory, cgroup.PIDs} {
		l := cgroup.Limits{CPU: 1, MemoryBytes: 1, PIDs: 1}
		clearLimit(&l, name)
		if l.CPU+float64(l.MemoryBytes)+float64(l.PIDs) != 2 {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestDiskError(t *testing.T) {
	for errno, want := range map[syscall.Errno]sandbox.Code{
		syscall.ENOSPC: sandbox.Unavailable, syscall.EDQUOT: sandbox.Unavailable, syscall.EROFS: sandbox.Unavailable,
		syscall.EACCES: sandbox.Unavailable, syscall.EIO: sandbox.Internal,
	} {
		if err := diskError(fmt.Errorf("mkdir: %w", errno)); sandbox.CodeOf(err) != want || !strings.Contains(err.Error(), errno.Error()) {
			t.Errorf("%v: %v", errno, err)
		}
	}
	known := sandbox.Errorf(sandbox.Invalid, "x: %w", syscall.ENOSPC)
	if err := diskError(known); err != known {
		t.Errorf("an error that says more became %v", err)
	}
}

func TestUndoRunsBackwards(t *testing.T) {
	var said []int
	var u undo
	for i := range 3 {
		u.add(func() { said = append(said, i) })
	}
	u.run()
	if fmt.Sprint(said) != "[2 1 0]" {
		t.Error(said)
	}
}
