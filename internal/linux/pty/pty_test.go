package pty

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func open(t *testing.T) (master, slave *os.File) {
	t.Helper()
	m, s, err := Open("/dev/pts/ptmx")
	if err != nil {
		t.Skipf("needs a devpts: %v", err)
	}
	master, slave = os.NewFile(uintptr(m), "master"), os.NewFile(uintptr(s), "slave")
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

func TestPairCarriesBytesAndSize(t *testing.T) {
	master, slave := open(t)
	if _, err := slave.WriteString("out\n"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if n, err := master.Read(b); err != nil || string(b[:n]) != "out\r\n" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if err := Resize(master, 132, 43); err != nil {
		t.Fatal(err)
	}
	if cols, rows, err := Size(int(slave.Fd())); err != nil || cols != 132 || rows != 43 {
		t.Error(cols, rows, err)
	}
	master.Close()
	if err := Resize(master, 1, 1); err == nil {
		t.Error("a closed one was resized")
	}
}

// TestDescriptorsDoNotLeak: both are close-on-exec, and the master does not block.
func TestDescriptorsDoNotLeak(t *testing.T) {
	m, s, err := Open("/dev/pts/ptmx")
	if err != nil {
		t.Skipf("needs a devpts: %v", err)
	}
	defer unix.Close(m)
	defer unix.Close(s)
	for _, fd := range []int{m, s} {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d survives an exec: %v", fd, err)
		}
	}
	if _, err := unix.Read(m, make([]byte, 1)); err != unix.EAGAIN {
		t.Errorf("an empty master: %v", err)
	}
}

// TestOnlyAMultiplexer: what a program may have put in its place is refused.
func TestOnlyAMultiplexer(t *testing.T) {
	link := t.TempDir() + "/ptmx"
	if err := os.Symlink("/dev/pts/ptmx", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dev/null", "/dev/zero", "/proc/self/status", link, "/nowhere"} {
		if m, s, err := Open(path); err == nil {
			unix.Close(m)
			unix.Close(s)
			t.Errorf("%s was taken for one", path)
		}
	}
}
