package pid1

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
)

func TestUserOfTheNewRoot(t *testing.T) {
	at, dir, outside := root(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(dir+"/etc", 0o755))
	passwd := "root:x:0:0::/elsewhere:/bin/sh\nnode:x:1000:1001::/home/node:/bin/sh\nodd:x:5:60::/proc/self:/bin/sh\n"
	must(os.WriteFile(dir+"/etc/passwd", []byte(passwd), 0o644))
	for user, want := range map[string]struct {
		uid, gid uint32
		home     string
	}{
		"": {0, 0, "/root"}, "root": {0, 0, "/root"}, "node": {1000, 1001, "/home/node"}, "1000": {1000, 1001, "/home/node"},
		"77": {77, 77, "/home/77"}, "77:8": {77, 8, "/home/77"}, "unborn": {0, 0, "/home/unborn"}, "odd": {5, 60, "/proc/self"},
	} {
		b := &builder{root: at, setup: initproto.Setup{User: user}}
		cred, home := b.user()
		if cred.Uid != want.uid || cred.Gid != want.gid || home != want.home {
			t.Errorf("%q: %+v %q", user, cred, home)
		}
	}
	// A link in place of the file stays in the new root, and a fifo does not block.
	must(os.Remove(dir + "/etc/passwd"))
	must(os.WriteFile(outside+"/passwd", []byte(passwd), 0o644))
	must(os.Symlink(outside+"/passwd", dir+"/etc/passwd"))
	b := &builder{root: at, setup: initproto.Setup{User: "node"}}
	if cred, home := b.user(); cred.Uid != 0 || home != "/home/node" {
		t.Errorf("led out: %+v %q", cred, home)
	}
	must(os.Remove(dir + "/etc/passwd"))
	must(unix.Mkfifo(dir+"/etc/passwd", 0o600))
	if cred, _ := b.user(); cred.Uid != 0 {
		t.Errorf("fifo: %+v", cred)
	}
}

// A home that /etc/passwd puts into the kernel's filesystems gets no mount.
func TestHomeInKernelFilesystems(t *testing.T) {
	at, dir, _ := root(t)
	if err := os.Mkdir(dir+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, home := range []string{"/proc", "/proc/self", "/sys/x", "/dev", "//dev/../proc", "/", ""} {
		line := "odd:x:5:60::" + home + ":/bin/sh\n"
		if err := os.WriteFile(dir+"/etc/passwd", []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
		b := &builder{root: at, setup: initproto.Setup{User: "odd"}}
		fd, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		target := "~/x"
		if home == "/" || home == "" {
			target = "~/proc/x"
		}
		err = b.attachFor(fd, initproto.Mount{Target: target})
		unix.Close(fd)
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("home %q: %v", home, err)
		}
	}
	for _, made := range []string{"proc", "sys", "dev"} {
		if _, err := os.Lstat(filepath.Join(dir, made)); err == nil {
			t.Errorf("made %s", made)
		}
	}
}

func TestKeep(t *testing.T) {
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fds := []int{0, int(f.Fd())}
	if fd, err := keep(initproto.Setup{}, fds); fd != -1 || err != nil {
		t.Errorf("nothing to keep: %d %v", fd, err)
	}
	for _, n := range []int{2, 99} {
		if _, err := keep(initproto.Setup{Keep: n}, fds); !errors.Is(err, initproto.ErrProtocol) {
			t.Errorf("index %d: %v", n, err)
		}
	}
	kept, err := keep(initproto.Setup{Keep: 1}, fds)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(kept)
	in := &Init{kept: kept}
	got, err := in.open(initproto.Open{Kept: true})
	if err != nil || !same(t, got, f.Name()) {
		t.Errorf("kept: %v", err)
	}
	unix.Close(got)
	in.kept = -1
	if _, err := in.open(initproto.Open{Kept: true}); !errors.Is(err, unix.EBADF) {
		t.Errorf("none kept: %v", err)
	}
}
