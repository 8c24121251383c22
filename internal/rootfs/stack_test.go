package rootfs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/sandbox"
)

// stacked makes n layers, each with a file of its own and one that all have.
func stacked(t *testing.T, n int) (*Builder, Params) {
	t.Helper()
	b, p := params(t, sandbox.ModeNone, false)
	dir := t.TempDir()
	s := &Stack{Dir: dir}
	for i := range n { // the last one made is the topmost
		name := fmt.Sprintf("%064x", i)
		write(t, filepath.Join(dir, name, "etc", "top"), fmt.Sprint(i))
		write(t, filepath.Join(dir, name, fmt.Sprintf("f%d", i)), fmt.Sprint(i))
		s.Names = append([]string{name}, s.Names...)
	}
	p.Image, p.Stack = nil, s
	return b, p
}

// TestStack: as many layers as the kernel takes, the topmost wins, and all of it
// belongs to the sandbox.
func TestStack(t *testing.T) {
	if !ready(t) {
		return
	}
	for _, n := range []int{1, 2, 500} {
		b, p := stacked(t, n)
		before := fds(t)
		res := build(t, b, p)
		if got, want := res.read(t, 0, "etc/top"), fmt.Sprint(n-1); got != want {
			t.Errorf("%d layers: %q", n, got)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			if got := res.read(t, 0, fmt.Sprintf("f%d", i)); got != fmt.Sprint(i) {
				t.Errorf("%d layers: f%d is %q", n, i, got)
			}
		}
		var st unix.Stat_t
		if err := unix.Fstatat(int(res.Files[0].Fd()), "f0", &st, 0); err != nil || st.Uid != p.IDBase {
			t.Errorf("f0 belongs to %d, %v", st.Uid, err)
		}
		if after := fds(t); after > before+2 { // the mount, and an id map for real root
			t.Errorf("%d descriptors before, %d after", before, after)
		}
		if host := res.read(t, 0, "etc/hostname"); host != "box\n" {
			t.Errorf("hostname %q", host)
		}
	}
}

// TestEmptyStack: an image may have no layers at all.
func TestEmptyStack(t *testing.T) {
	if !ready(t) {
		return
	}
	b, p := stacked(t, 0)
	if got := build(t, b, p).read(t, 0, "etc/hostname"); got != "box\n" {
		t.Error(got)
	}
}

// TestStackCompletes: what an image need not have is in the upper layer, and a
// workspace belongs to who works in it.
func TestStackCompletes(t *testing.T) {
	if !ready(t) {
		return
	}
	b, p := stacked(t, 1)
	p.Spec.Workspace.Path = "/home/me/project"
	if b.Root {
		p.OwnerUID, p.OwnerGID = 1000, 100
	}
	build(t, b, p)
	upper := filepath.Join(p.Dir, "upper", "root")
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(upper, "home/me/project"), &st); err != nil || st.Uid != p.IDBase+p.OwnerUID || st.Gid != p.IDBase+p.OwnerGID {
		t.Errorf("%d:%d, %v", st.Uid, st.Gid, err)
	}
	want, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Skip("the host has no name servers")
	}
	if got, err := os.ReadFile(filepath.Join(upper, "etc/resolv.conf")); err != nil || string(got) != string(want) {
		t.Errorf("%q, %v", got, err)
	}
}
