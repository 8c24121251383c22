package pid1

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// root is a directory as descriptor, and beside it one that must stay empty.
func root(t *testing.T) (fd int, dir, outside string) {
	t.Helper()
	dir, outside = filepath.Join(t.TempDir(), "root"), t.TempDir()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd, dir, outside
}

func fds(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

// same reports whether a descriptor is of the file at path.
func same(t *testing.T, fd int, path string) bool {
	t.Helper()
	var a, b unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &a), unix.Lstat(path, &b)); err != nil {
		t.Error(err)
		return false
	}
	return a.Dev == b.Dev && a.Ino == b.Ino
}

func TestMountTargetMakesWhatIsMissing(t *testing.T) {
	at, dir, _ := root(t)
	for _, c := range []struct {
		target, path string
		dir          bool
	}{
		{"/workspace", "workspace", true},
		{"home/me/project", "home/me/project", true},
		{"/home/me/other/", "home/me/other", true},
		{"/a/../../../b", "b", true}, // a path cannot climb out
		{"/etc/hosts", "etc/hosts", false},
		{"/workspace", "workspace", true}, // there already
		{"/etc/hosts", "etc/hosts", false},
	} {
		fd, err := mountTarget(at, c.target, c.dir)
		if err != nil {
			t.Errorf("%s: %v", c.target, err)
			continue
		}
		if !same(t, fd, filepath.Join(dir, c.path)) || isDir(fd) != c.dir {
			t.Errorf("%s is another file, or of another kind", c.target)
		}
		unix.Close(fd)
	}
}

// TestMountTargetFollowsNoLink: an image or an upper layer may hold any link
// (CVE-2025-31133).
func TestMountTargetFollowsNoLink(t *testing.T) {
	at, dir, outside := root(t)
	for name, to := range map[string]string{
		"absolute": outside, "relative": "../../" + filepath.Base(outside), "self": "self", "dead": outside + "/none",
		"inside": "real", "proc": "/proc/self/fd", "up": "..",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := fds(t)
	for _, name := range []string{"absolute", "relative", "self", "dead", "inside", "proc", "up"} {
		for _, target := range []string{"/" + name + "/below", "/" + name} {
			for _, wantDir := range []bool{true, false} {
				fd, err := mountTarget(at, target, wantDir)
				if err == nil {
					// Only the link itself may be had, and nothing can be mounted on it.
					if !same(t, fd, filepath.Join(dir, name)) || target != "/"+name {
						t.Errorf("%s was followed", target)
					}
					unix.Close(fd)
				}
			}
		}
	}
	if after := fds(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "real")); err != nil || len(left) != 0 {
		t.Errorf("behind a link inside: %v, %v", left, err)
	}
}

func TestMountTargetThroughAFile(t *testing.T) {
	at, dir, _ := root(t)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if fd, err := mountTarget(at, "/file/below", true); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("%d, %v", fd, err)
	}
	if fd, err := mountTarget(at, "/", true); err == nil {
		t.Errorf("the root itself is a target: %d", fd)
	}
	if fd, err := mountTarget(-1, "/x", true); err == nil {
		t.Errorf("beneath nothing: %d", fd)
	}
}

func TestOpenExact(t *testing.T) {
	_, dir, outside := root(t)
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		dir + "/none": nil, dir + "/none/none": nil, dir + "/link/x": unix.ELOOP,
	} {
		if fd, err := openExact(path); !errors.Is(err, want) || fd >= 0 {
			t.Errorf("%s: %d, %v", path, fd, err)
		}
	}
	for _, path := range []string{dir, dir + "/link"} { // a link at the end is at most itself
		fd, err := openExact(path)
		if err == nil && !same(t, fd, path) {
			t.Errorf("%s was followed", path)
		}
		unix.Close(fd)
	}
}
