package rootfs

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/rootfs/hostimage"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/workspace"
)

// ready says whether the test can go on here: as root it can, for an ordinary
// user it runs once more in a user and mount namespace.
func ready(t *testing.T) bool {
	t.Helper()
	if os.Getenv("COOP_TEST_INSIDE") == t.Name() || os.Geteuid() == 0 {
		return true
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "COOP_TEST_INSIDE="+t.Name(), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		need(t, "user namespaces", err)
	case err != nil:
		t.Errorf("inside: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("inside:\n%s", out)
	}
	return false
}

func need(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs %s, which CI must have: %v", what, err)
	}
	t.Skipf("needs %s: %v", what, err)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// params is a small image, a project and an empty sandbox directory. In a user
// namespace with a single id only what we own can be shared, so the tree is
// ours.
func params(t *testing.T, mode sandbox.Mode, repo bool) (*Builder, Params) {
	t.Helper()
	uids, _, err := idmap.Self()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir+"/skeleton/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
	write(t, dir+"/usr/bin/tool", "tool")
	write(t, dir+"/shadow/shadowed", "shadow")
	write(t, dir+"/usr/shadowed", "host")
	write(t, dir+"/project/file", "original")
	home := dir + "/home"
	write(t, home+"/sandboxes/id/x", "")
	spec := sandbox.Spec{Name: "box", Workspace: sandbox.Workspace{Mode: mode, Source: dir + "/project", Repo: repo}}.WithDefaults()
	p := Params{
		Dir: home + "/sandboxes/id", Spec: spec,
		Image: &hostimage.Image{Key: "k", Skeleton: dir + "/skeleton", Trees: []hostimage.Tree{{Path: dir + "/usr", Shadow: dir + "/shadow"}}},
	}
	if mode != sandbox.ModeNone {
		if p.Workspace, err = workspace.Open(dir+"/project", home); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Workspace.Close() })
	}
	b := NewBuilder(uids.Initial() && os.Geteuid() == 0)
	if b.Root {
		p.IDBase = idmap.First
	}
	return b, p
}

func build(t *testing.T, b *Builder, p Params) *Result {
	t.Helper()
	if err := b.Prepare(t.Context(), p, true); err != nil {
		t.Fatal(err)
	}
	res, err := b.Build(t.Context(), p)
	if err != nil {
		if sandbox.CodeOf(err) == sandbox.Unavailable {
			need(t, "overlayfs and idmapped mounts over "+os.TempDir(), err)
		}
		t.Fatal(err)
	}
	t.Cleanup(res.Close)
	return res
}

// read reads a file of the n-th mount.
func (r *Result) read(t *testing.T, n int, name string) string {
	t.Helper()
	fd, err := unix.Openat(int(r.Files[n].Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func targets(r *Result) string {
	var list []string
	for _, m := range r.Mounts {
		s := m.Target
		if m.Root {
			s += "+root"
		}
		if m.ReadOnly {
			s += "+ro"
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func TestOverlayWorkspace(t *testing.T) {
	if !ready(t) {
		return
	}
	b, p := params(t, sandbox.ModeOverlay, true)
	res := build(t, b, p)
	usr := p.Image.Trees[0].Path
	if got, want := targets(res), usr+"+root /workspace /repo+ro"; got != want || len(res.Files) != 4 {
		t.Fatalf("%s, %d files", got, len(res.Files))
	}
	for _, c := range []struct {
		mount      int
		name, want string
	}{
		{0, "etc/passwd", "root:x:0:0::/root:/bin/sh\n"},
		{0, "etc/hostname", "box\n"},
		{1, "bin/tool", "tool"},
		{1, "shadowed", "shadow"}, // the shadow lies over the host's tree
		{2, "file", "original"},
		{3, "file", "original"},
	} {
		if got := res.read(t, c.mount, c.name); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.mount, c.name, got, c.want)
		}
	}
	if hosts := res.read(t, 0, "etc/hosts"); !strings.Contains(hosts, "127.0.1.1 box\n") {
		t.Errorf("%q", hosts)
	}
	// What is shown belongs to the sandbox's root.
	for i, name := range []string{"etc/hostname", "bin/tool", "file", "file"} {
		var st unix.Stat_t
		if err := unix.Fstatat(int(res.Files[i].Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Uid != p.IDBase {
			t.Errorf("%s of mount %d belongs to %d, %v", name, i, st.Uid, err)
		}
	}
}

func TestBindWorkspace(t *testing.T) {
	if !ready(t) {
		return
	}
	b, p := params(t, sandbox.ModeBind, true)
	res := build(t, b, p)
	if got, want := targets(res), p.Image.Trees[0].Path+"+root /workspace"; got != want {
		t.Errorf("%s", got)
	}
	if got := res.read(t, 2, "file"); got != "original" {
		t.Errorf("%q", got)
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(res.Files[2].Fd()), &st); err != nil || st.Flags&unix.ST_NOSUID == 0 || st.Flags&unix.ST_NODEV == 0 {
		t.Errorf("%#x, %v", st.Flags, err)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "upper", "workspace")); err == nil {
		t.Error("a layer for what has none")
	}
}

func TestNoWorkspace(t *testing.T) {
	if !ready(t) {
		return
	}
	b, p := params(t, sandbox.ModeNone, false)
	res := build(t, b, p)
	if got, want := targets(res), p.Image.Trees[0].Path+"+root"; got != want {
		t.Errorf("%s", got)
	}
}

// TestPrepareTwice: a sandbox that is started again finds its files.
func TestPrepareTwice(t *testing.T) {
	b, p := params(t, sandbox.ModeOverlay, false)
	if err := b.Prepare(t.Context(), p, true); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(p.Dir, "upper", "workspace", "mine")
	write(t, mine, "kept")
	if err := b.Prepare(t.Context(), p, false); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(mine); err != nil || string(got) != "kept" {
		t.Errorf("%q, %v", got, err)
	}
	for dir, want := range map[string]os.FileMode{"upper/root": 0o755, "work/root": 0o700, "upper/workspace": p.Workspace.Mode.Perm()} {
		st, err := os.Stat(filepath.Join(p.Dir, dir))
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", dir, st.Mode(), err)
			continue
		}
		if uid := st.Sys().(*syscall.Stat_t).Uid; b.Root && uid != p.IDBase {
			t.Errorf("%s belongs to %d", dir, uid)
		}
	}
}

// TestFailedBuildsLeaveNothingOpen breaks one part after the other.
func TestFailedBuildsLeaveNothingOpen(t *testing.T) {
	if !ready(t) {
		return
	}
	for name, change := range map[string]func(*Params){
		"no skeleton":    func(p *Params) { p.Image.Skeleton += "x" },
		"no tree":        func(p *Params) { p.Image.Trees[0].Path += "x" },
		"no shadow":      func(p *Params) { p.Image.Trees[0].Shadow += "x" },
		"not prepared":   func(p *Params) { p.Dir += "x" },
		"no upper layer": func(p *Params) { _ = os.RemoveAll(filepath.Join(p.Dir, "upper", "workspace")) },
	} {
		b, p := params(t, sandbox.ModeOverlay, true)
		build(t, b, p).Close() // it would have worked; the id maps are kept from here on
		change(&p)
		before := fds(t)
		if res, err := b.Build(t.Context(), p); err == nil || res != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after := fds(t); after > before {
			t.Errorf("%s: %d descriptors before, %d after", name, before, after)
		}
	}
	b, p := params(t, sandbox.ModeOverlay, false)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := b.Build(ctx, p); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func fds(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

// TestOwners: what the project's owner owns belongs to the agent's user inside.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: others have no ids to map")
	}
	b, p := params(t, sandbox.ModeOverlay, false)
	if !b.Root {
		t.Skip("needs real root")
	}
	file := filepath.Join(p.Workspace.Path, "file")
	p.Workspace.UID, p.Workspace.GID, p.OwnerUID, p.OwnerGID = 1234, 1234, 1000, 100
	if err := os.Chown(file, 1234, 1234); err != nil {
		t.Fatal(err)
	}
	res := build(t, b, p)
	var st unix.Stat_t
	if err := unix.Fstatat(int(res.Files[2].Fd()), "file", &st, 0); err != nil || st.Uid != p.IDBase+1000 || st.Gid != p.IDBase+100 {
		t.Errorf("%d:%d, %v", st.Uid-p.IDBase, st.Gid-p.IDBase, err)
	}
	first, err := b.maps.get(owned(p))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.maps.get(owned(p)); err != nil || again != first {
		t.Errorf("a second namespace for the same map: %v", err)
	}
}
