package memfd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// program is ourselves: a program that certainly runs here.
func program(t *testing.T) *os.File {
	t.Helper()
	code, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Program("coop-test", code)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestMain(m *testing.M) {
	if os.Args[0] == "as-memfd" {
		exe, _ := os.Readlink("/proc/self/exe") // the test looks at what comes
		_, _ = os.Stdout.WriteString(exe)
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func TestNobodyCanChangeIt(t *testing.T) {
	f := program(t)
	for name, err := range map[string]error{
		"write":  of(f.WriteAt([]byte("x"), 0)),
		"append": of(f.WriteAt([]byte("x"), 1<<30)),
		"shrink": f.Truncate(0),
		"grow":   f.Truncate(1 << 30),
		"unseal": of(unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, 0)),
	} {
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("%s: %v, want EPERM", name, err)
		}
	}
	// A new description of the same file, as CVE-2019-5736 got one.
	w, err := os.OpenFile(path(f), os.O_RDWR, 0)
	if err == nil {
		defer w.Close()
		if _, err = w.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
			t.Errorf("write through %s: %v, want EPERM", path(f), err)
		}
		_, err = unix.Mmap(int(w.Fd()), 0, 4096, unix.PROT_WRITE, unix.MAP_SHARED)
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("map for writing: %v, want EPERM", err)
		}
	}
}

func of(_ int, err error) error { return err }

func path(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

func TestItRuns(t *testing.T) {
	f := program(t)
	cmd := exec.CommandContext(t.Context(), path(f))
	cmd.Args = []string{"as-memfd"}
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.HasPrefix(string(out), "/memfd:coop-test") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestDescriptorIsHighAndPrivate(t *testing.T) {
	f := program(t)
	if f.Fd() < 100 {
		t.Errorf("descriptor %d is in the way of a child's", f.Fd())
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("it survives an exec: %v", err)
	}
}
