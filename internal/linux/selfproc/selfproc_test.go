package selfproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain answers the tests that change the whole process.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "__child" {
		os.Exit(child(os.Args[2]))
	}
	os.Exit(m.Run())
}

func child(what string) int {
	var err error
	switch what {
	case "close-on-exec":
		err = closeOnExec()
	case "umask":
		Umask(0o077)
		if old := unix.Umask(0); old != 0o077 {
			err = fmt.Errorf("mask %o", old)
		}
	case "keyring":
		runtime.LockOSThread()
		err = NewKeyring()
	case "mounts":
		before, _ := os.Readlink("/proc/self/ns/mnt") // compared below
		err = PrivateMounts([]string{os.Args[0], "__child", "mounts-inside", before}, os.Environ())
	case "mounts-inside":
		err = mountsInside(os.Args[3])
	default:
		err = errors.New("unknown")
	}
	if err != nil {
		fmt.Print(err)
		return 1
	}
	return 0
}

// closeOnExec: what was open is closed to programs, but for what is handed on.
func closeOnExec() error {
	a, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	b, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	if err := CloseOnExec(3); err != nil {
		return err
	}
	if err := Inherit(os.NewFile(uintptr(b), "b")); err != nil {
		return err
	}
	for fd, want := range map[int]int{a: unix.FD_CLOEXEC, b: 0, 2: 0} {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags != want {
			return fmt.Errorf("descriptor %d has flags %d, %v", fd, flags, err)
		}
	}
	return nil
}

// mountsInside: another namespace, and what is mounted in it stays in it.
func mountsInside(before string) error {
	now, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil || now == before {
		return fmt.Errorf("still in %s, %v", now, err)
	}
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(info), "\n") {
		if options, _, ok := strings.Cut(line, " - "); ok && strings.Contains(options, "shared:") {
			return errors.New("shared: " + line)
		}
	}
	return nil
}

func run(t *testing.T, what string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "__child", what)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestCloseOnExec(t *testing.T) { run(t, "close-on-exec") }
func TestUmask(t *testing.T)       { run(t, "umask") }
func TestNewKeyring(t *testing.T)  { run(t, "keyring") }

func TestPrivateMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	run(t, "mounts")
}

func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	if err := Lock(first, false); err != nil {
		t.Fatal(err)
	}
	if err := Lock(second, false); !Held(err) {
		t.Errorf("a held lock: %v", err)
	}
	got := make(chan error, 1)
	go func() { got <- Lock(second, true) }()
	first.Close() // which unlocks
	if err := <-got; err != nil {
		t.Errorf("after waiting: %v", err)
	}
	if err := Lock(first, false); err == nil || Held(err) {
		t.Errorf("a closed file: %v", err)
	}
	if Held(nil) || Held(unix.EBADF) {
		t.Error("held by nobody")
	}
}
