package mount

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
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

func dir(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func mounts(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fds(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

func TestNewIsDetachedUntilAttached(t *testing.T) {
	if !inside(t) {
		return
	}
	before := mounts(t)
	m, err := New("tmpfs", NoSuid|NoDev, Option{"mode", "0751"}, Option{"size", "64k"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if mounts(t) != before {
		t.Error("it is attached already")
	}
	if st, err := m.Stat(); err != nil || st.Mode().Perm() != 0o751 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	place := t.TempDir()
	if err := Attach(int(m.Fd()), int(dir(t, place).Fd())); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(place, unix.MNT_DETACH)
	if err := os.WriteFile(filepath.Join(place, "file"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if err := SetAttr(int(m.Fd()), false, ReadOnly|NoExec); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(place, "more"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("read-only: %v", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(place, &st); err != nil {
		t.Fatal(err)
	}
	if want := int64(unix.ST_NOSUID | unix.ST_NODEV | unix.ST_NOEXEC | unix.ST_RDONLY); st.Flags&want != want {
		t.Errorf("attributes %#x", st.Flags)
	}
}

func TestNewExplains(t *testing.T) {
	if !inside(t) {
		return
	}
	before := fds(t)
	for name, c := range map[string]struct {
		fstype string
		opts   []Option
		want   error
		text   string
	}{
		"unknown filesystem": {"nonsensefs", nil, unix.ENODEV, "fsopen nonsensefs"},
		"unknown option":     {"tmpfs", []Option{{"colour", "red"}}, unix.EINVAL, "colour"},
		"illegal value":      {"tmpfs", []Option{{"mode", "rwx"}}, unix.EINVAL, "kernel: "},
		"no flag":            {"tmpfs", []Option{{"size", ""}}, unix.EINVAL, "size"},
	} {
		m, err := New(c.fstype, 0, c.opts...)
		if m != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := fds(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestClone(t *testing.T) {
	if !inside(t) {
		return
	}
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(from, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", sub, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(sub, unix.MNT_DETACH)
	if err := os.WriteFile(filepath.Join(sub, "deep"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, recursive := range []bool{false, true} {
		m, err := Clone(int(dir(t, from).Fd()), "", recursive)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if err := SetAttr(int(m.Fd()), recursive, ReadOnly); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Openat(int(m.Fd()), "sub/deep", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if (err == nil) != recursive {
			t.Errorf("recursive %v: what is mounted beneath: %v", recursive, err)
		}
		unix.Close(fd)
		if _, err := unix.Openat(int(m.Fd()), "file", unix.O_WRONLY, 0); err != unix.EROFS {
			t.Errorf("recursive %v: the clone is writable: %v", recursive, err)
		}
		if recursive {
			if _, err := unix.Openat(int(m.Fd()), "sub/deep", unix.O_WRONLY, 0); err != unix.EROFS {
				t.Errorf("what is beneath is writable: %v", err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(from, "file"), []byte("text"), 0o600); err != nil {
		t.Errorf("the original became read-only: %v", err)
	}
	link, err := Clone(unix.AT_FDCWD, filepath.Join(from, "link"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(link.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		t.Errorf("a link was followed: %o, %v", st.Mode, err)
	}
	if m, err := Clone(unix.AT_FDCWD, filepath.Join(from, "none"), false); !errors.Is(err, unix.ENOENT) {
		t.Errorf("%v, %v", m, err)
	}
}

// TestErrorsOfDescriptors: what is no mount cannot be handled as one.
func TestErrorsOfDescriptors(t *testing.T) {
	if !inside(t) {
		return
	}
	d := dir(t, t.TempDir())
	for name, err := range map[string]error{
		"attributes of a directory": SetAttr(int(d.Fd()), false, ReadOnly),
		"attributes of nothing":     SetAttr(-1, false, ReadOnly),
		"id map of nothing":         IDMap(-1, true, -1),
		"attach nothing":            Attach(-1, int(d.Fd())),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestIDMap(t *testing.T) {
	if !inside(t) {
		return
	}
	// In here nobody may map the host's filesystem, and a namespace's own not
	// with its own map; only that the refusal comes through is to be seen.
	m, err := Clone(int(dir(t, t.TempDir()).Fd()), "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := IDMap(int(m.Fd()), false, int(dir(t, "/proc/self/ns/user").Fd())); !errors.Is(err, unix.EPERM) {
		t.Errorf("%v, want EPERM", err)
	}
}

func TestFDPath(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "a:b,c\\d e")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	f := dir(t, odd)
	if got, err := os.Readlink(FDPath(int(f.Fd()))); err != nil || got != odd {
		t.Errorf("%q, %v", got, err)
	}
}

func TestClassicFails(t *testing.T) {
	if !inside(t) {
		return
	}
	at := dir(t, t.TempDir())
	before, open := mounts(t), fds(t)
	if m, err := Classic("tmpfs", "colour=red", 0, at); m != nil || !errors.Is(err, unix.EINVAL) {
		t.Errorf("%v, %v", m, err)
	}
	if mounts(t) != before || fds(t) != open {
		t.Error("something is left of it")
	}
}

func TestWhiteout(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gone")
	if os.Geteuid() != 0 {
		t.Skip("needs root: others make whiteouts through the overlay only")
	}
	if err := Whiteout(name); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if err := Whiteout(name); !errors.Is(err, unix.EEXIST) {
		t.Errorf("twice: %v", err)
	}
}
