package overlay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/sandbox"
)

// inside runs a test once more in a user and mount namespace of its own, where
// anybody may mount and nothing can reach the host. It is true in there.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv("COOP_TEST_INSIDE") == t.Name() {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
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

// trees is a directory with layers in it: low (over lower), upper and work.
type trees struct{ low, lower, upper, work string }

func makeTrees(t *testing.T) trees {
	t.Helper()
	dir := t.TempDir()
	tr := trees{filepath.Join(dir, "low"), filepath.Join(dir, "lower"), filepath.Join(dir, "upper"), filepath.Join(dir, "work")}
	for _, d := range []string{tr.low, tr.lower, tr.upper, tr.work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(tr.low, "both"), "low")
	write(t, filepath.Join(tr.lower, "both"), "lower")
	write(t, filepath.Join(tr.lower, "file"), "original")
	write(t, filepath.Join(tr.lower, "doomed"), "soon gone")
	return tr
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func (tr trees) layers(t *testing.T) Layers {
	t.Helper()
	return Layers{Lowers: []*os.File{open(t, tr.low), open(t, tr.lower)}, Upper: open(t, tr.upper), Work: open(t, tr.work)}
}

// read reads a file of a detached tree.
func read(t *testing.T, m *os.File, name string) string {
	t.Helper()
	fd, err := unix.Openat(int(m.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
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

func overwrite(t *testing.T, m *os.File, name, text string) {
	t.Helper()
	fd, err := unix.Openat(int(m.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// checkTree uses a tree as a sandbox would and looks at the layers afterwards.
func checkTree(t *testing.T, tr trees, m *os.File) {
	t.Helper()
	if got := read(t, m, "both"); got != "low" {
		t.Errorf("the topmost lower does not win: %q", got)
	}
	overwrite(t, m, "file", "changed")
	overwrite(t, m, "new", "added")
	if err := unix.Unlinkat(int(m.Fd()), "doomed", 0); err != nil {
		t.Errorf("remove: %v", err)
	}
	for name, want := range map[string]string{"file": "changed", "new": "added", "doomed": unix.ENOENT.Error()} {
		if got := read(t, m, name); got != want {
			t.Errorf("%s in the tree: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"file": "original", "doomed": "soon gone", "both": "lower"} {
		if b, err := os.ReadFile(filepath.Join(tr.lower, name)); err != nil || string(b) != want {
			t.Errorf("%s in the lower layer: %q, %v", name, b, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(tr.upper, "file")); err != nil || string(b) != "changed" {
		t.Errorf("file in the upper layer: %q, %v", b, err)
	}
	if st, err := os.Lstat(filepath.Join(tr.upper, "doomed")); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("no whiteout in the upper layer: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(tr.lower, "new")); err == nil {
		t.Error("a new file went into the lower layer")
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(m.Fd()), &st); err != nil || st.Type != unix.OVERLAYFS_SUPER_MAGIC {
		t.Errorf("filesystem %#x, %v", st.Type, err)
	}
	if want := int64(unix.ST_NOSUID | unix.ST_NODEV); st.Flags&want != want {
		t.Errorf("setuid programs or devices work: %#x", st.Flags)
	}
}

func TestMountAsUser(t *testing.T) {
	if !inside(t) {
		return
	}
	tr := makeTrees(t)
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Mount(tr.layers(t), Options{UserXattr: true})
	if err != nil {
		need(t, "overlayfs over "+os.TempDir(), err)
	}
	defer m.Close()
	checkTree(t, tr, m)
	if after, err := os.ReadFile("/proc/self/mountinfo"); err != nil || string(after) != string(before) {
		t.Errorf("something is attached: %v", err)
	}
}

func TestMountAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	tr := makeTrees(t)
	if err := os.Mkdir(filepath.Join(tr.lower, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(tr.lower, "dir", "file"), "deep")
	m, err := Mount(tr.layers(t), Options{})
	if err != nil {
		need(t, "overlayfs over "+os.TempDir(), err)
	}
	defer m.Close()
	checkTree(t, tr, m)
	// Without redirect_dir this is EXDEV and mv copies.
	if err := unix.Renameat(int(m.Fd()), "dir", int(m.Fd()), "moved"); err != nil {
		t.Errorf("rename a directory of the lower layer: %v", err)
	}
	if got := read(t, m, "moved/file"); got != "deep" {
		t.Errorf("after the rename: %q", got)
	}
}

// TestNoRedirect: the files of a renamed directory would stay in the lower layer.
func TestNoRedirect(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	tr := makeTrees(t)
	if err := os.Mkdir(filepath.Join(tr.lower, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	m, err := Mount(tr.layers(t), Options{NoRedirect: true})
	if err != nil {
		need(t, "overlayfs over "+os.TempDir(), err)
	}
	defer m.Close()
	if err := unix.Renameat(int(m.Fd()), "dir", int(m.Fd()), "moved"); err != unix.EXDEV {
		t.Errorf("rename a directory of the lower layer: %v", err)
	}
}

// TestOddPaths: no character of a path has a meaning in the options.
func TestOddPaths(t *testing.T) {
	if !inside(t) {
		return
	}
	tr := makeTrees(t)
	odd := filepath.Join(filepath.Dir(tr.lower), `a:b,c=d\e "f`)
	if err := os.Rename(tr.lower, odd); err != nil {
		t.Fatal(err)
	}
	tr.lower = odd
	m, err := Mount(tr.layers(t), Options{UserXattr: true})
	if err != nil {
		need(t, "overlayfs over "+os.TempDir(), err)
	}
	defer m.Close()
	checkTree(t, tr, m)
}

func TestMountRefusesAndCleansUp(t *testing.T) {
	if !inside(t) {
		return
	}
	tr := makeTrees(t)
	ok := tr.layers(t)
	m, err := Mount(ok, Options{UserXattr: true})
	if err != nil {
		need(t, "overlayfs over "+os.TempDir(), err)
	}
	m.Close()
	below := filepath.Join(tr.upper, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	proc, within := open(t, "/proc/self"), open(t, below)
	before := fds(t)
	for name, c := range map[string]struct {
		layers Layers
		code   sandbox.Code
	}{
		"the upper on a filesystem that cannot": {Layers{Lowers: ok.Lowers, Upper: proc, Work: ok.Work}, sandbox.Unavailable},
		"work elsewhere than the upper":         {Layers{Lowers: ok.Lowers, Upper: ok.Upper, Work: proc}, sandbox.Unavailable},
		"a lower in the upper":                  {Layers{Lowers: []*os.File{within}, Upper: ok.Upper, Work: ok.Work}, sandbox.Invalid},
		"work in the upper":                     {Layers{Lowers: ok.Lowers, Upper: ok.Upper, Work: ok.Upper}, sandbox.Unavailable},
	} {
		m, err := Mount(c.layers, Options{UserXattr: true})
		var e *sandbox.Error
		if m != nil || !errors.As(err, &e) || e.Code != c.code || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := fds(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
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

func TestExplain(t *testing.T) {
	for errno, want := range map[syscall.Errno]struct {
		code sandbox.Code
		hint string
	}{
		syscall.EINVAL: {sandbox.Unavailable, "COOP_HOME must be on a filesystem"},
		syscall.EPERM:  {sandbox.Unavailable, "coop doctor"},
		syscall.ENODEV: {sandbox.Unavailable, "modprobe overlay"},
		syscall.ELOOP:  {sandbox.Invalid, "COOP_HOME"},
		syscall.ENOSPC: {sandbox.Unavailable, "free some space"},
	} {
		err := explain(Layers{}, fmt.Errorf("fsconfig: %w", &os.PathError{Op: "x", Path: "y", Err: errno}))
		var e *sandbox.Error
		if !errors.As(err, &e) || e.Code != want.code || !strings.Contains(e.Hint, want.hint) || !errors.Is(err, errno) {
			t.Errorf("%v: %v", errno, err)
		}
	}
	if err := explain(Layers{}, syscall.EIO); err != syscall.EIO {
		t.Errorf("an error without an explanation became %v", err)
	}
}

// TestOptions: what differs between root and users, and that every layer is
// there once.
func TestOptions(t *testing.T) {
	tr := makeTrees(t)
	l := tr.layers(t)
	for _, user := range []bool{false, true} {
		var keys []string
		for _, o := range options(l, Options{UserXattr: user}) {
			keys = append(keys, o.Key)
			if strings.Contains(o.Value, os.TempDir()) {
				t.Errorf("%s is given by its path: %s", o.Key, o.Value)
			}
		}
		want := "redirect_dir metacopy lowerdir+ lowerdir+ upperdir workdir"
		if user {
			want = "userxattr lowerdir+ lowerdir+ upperdir workdir"
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("user %v: %s", user, got)
		}
	}
}
