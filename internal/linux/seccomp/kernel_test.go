package seccomp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/seccomp"
	"github.com/coop-dev/coop/internal/linux/seccomp/load"
)

// The tests here ask the kernel itself. A filter cannot be taken off again, so
// this test binary starts itself as a child that installs it and then either
// probes or executes a command.
const (
	childEnv   = "COOP_SECCOMP_CHILD" // the profile; set only in the child
	withoutEnv = "COOP_SECCOMP_WITHOUT"
	emulateEnv = "COOP_SECCOMP_EMULATE"
)

func TestMain(m *testing.M) {
	profile, isChild := os.LookupEnv(childEnv)
	if !isChild {
		os.Exit(m.Run())
	}
	if err := child(seccomp.Profile(profile), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(125)
	}
}

func child(p seccomp.Profile, argv []string) error {
	prog, err := seccomp.Compile(p, seccomp.Options{
		RootEmulation: os.Getenv(emulateEnv) != "",
		Without:       strings.Fields(os.Getenv(withoutEnv)),
	})
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := load.Install(prog); err != nil {
		return err
	}
	if len(argv) == 1 && argv[0] == "probe" {
		probe()
		return nil
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return unix.Exec(path, argv, os.Environ())
}

// probes are chosen so that the kernel's own answer, in the comment, differs
// from the filter's, also for an ordinary user.
func probes() []attempt {
	const x32Getpid = 0x40000000 | 39
	return []attempt{
		{"keyctl", unix.SYS_KEYCTL, [6]uintptr{unix.KEYCTL_GET_KEYRING_ID, 0, 0}},        // EINVAL
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [6]uintptr{0, 0}},                    // EFAULT or EINVAL
		{"unshare", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWUTS | unix.CLONE_PARENT}}, // EINVAL
		{"clone3", unix.SYS_CLONE3, [6]uintptr{0, 0}},                                    // EINVAL
		{"ioctl tcgets", unix.SYS_IOCTL, [6]uintptr{^uintptr(0), unix.TCGETS}},           // EBADF
		{"ioctl tiocsti", unix.SYS_IOCTL, [6]uintptr{^uintptr(0), unix.TIOCSTI}},         // EBADF
		{"ioctl high bits", unix.SYS_IOCTL, [6]uintptr{^uintptr(0), 1<<32 | unix.TIOCSTI}},
		{"prlimit64 read", unix.SYS_PRLIMIT64, [6]uintptr{uintptr(os.Getppid()), unix.RLIMIT_NOFILE, 0, 0}},      // success
		{"prlimit64 write", unix.SYS_PRLIMIT64, [6]uintptr{uintptr(os.Getppid()), unix.RLIMIT_NOFILE, 8, 0}},     // EFAULT
		{"socket netlink", unix.SYS_SOCKET, [6]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}},      // success
		{"socket nfnetlink", unix.SYS_SOCKET, [6]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, 12}},                    // success
		{"socket raw", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_RAW | 0x100, unix.IPPROTO_ICMP}},      // EINVAL
		{"setpriority", unix.SYS_SETPRIORITY, [6]uintptr{unix.PRIO_PROCESS, uintptr(os.Getppid()), ^uintptr(0)}}, // EACCES or success
		{"not yet known", 999, [6]uintptr{}},
		{"x32", x32Getpid, [6]uintptr{}},
	}
}

type attempt struct {
	name   string
	number uintptr
	args   [6]uintptr
}

func probe() {
	for _, a := range probes() {
		_, _, errno := unix.RawSyscall6(a.number, a.args[0], a.args[1], a.args[2], a.args[3], a.args[4], a.args[5])
		fmt.Printf("%s: %s\n", a.name, unix.ErrnoName(errno))
	}
}

func TestKernelRefuses(t *testing.T) {
	got := run(t, seccomp.Default, "", "probe")
	for _, want := range []string{
		"keyctl: EPERM", "io_uring_setup: EPERM", "unshare: EPERM", "clone3: ENOSYS",
		"ioctl tcgets: EBADF", "ioctl tiocsti: EPERM", "ioctl high bits: EPERM",
		"prlimit64 read: ", "prlimit64 write: EPERM",
		"socket netlink: ", "socket nfnetlink: EAFNOSUPPORT", "socket raw: EPERM",
		"setpriority: EPERM", "not yet known: ENOSYS", "x32: ENOSYS",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestKernelWithoutFences(t *testing.T) {
	got := run(t, seccomp.Default, "ioctl clone3 prlimit64", "probe")
	for _, want := range []string{
		"clone3: EINVAL", "ioctl high bits: EBADF", "prlimit64 write: EFAULT", "keyctl: EPERM", "unshare: EPERM",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestKernelRootEmulation: chown and mknod say that they worked, and did not.
func TestKernelRootEmulation(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(emulateEnv, "1")
	run(t, seccomp.Default, "", "sh", "-c", "cd "+dir+" && touch file && chown 12345:12345 file && mknod device c 1 3")

	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, "file"), &st); err != nil || int(st.Uid) != os.Getuid() {
		t.Errorf("file belongs to %d, %v", st.Uid, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "device")); !os.IsNotExist(err) {
		t.Errorf("the device is there: %v", err)
	}
}

// TestProgramsRun is the other half of a filter's job.
func TestProgramsRun(t *testing.T) {
	hello := filepath.Join(t.TempDir(), "hello.c")
	if err := os.WriteFile(hello, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{
		{"sh", "-c", "echo ok | cat | { read x; test $x = ok; }"},
		{"bash", "-c", "sleep 0.01 & wait; nice -n 5 true; (ulimit -n 64)"},
		{"python3", "-c", "import subprocess, threading, socket; subprocess.check_call(['true']); threading.Thread(target=int).start(); socket.socket()"},
		{"perl", "-e", "fork or exit; wait; exit $?"},
		{"node", "-e", "require('child_process').execSync('true')"},
		{"git", "init", "-q", t.TempDir()},
		{"gcc", "-o", hello + ".out", hello},
		{"go", "version"},
	}
	for _, argv := range commands {
		for _, p := range []seccomp.Profile{seccomp.Default, seccomp.Strict} {
			t.Run(argv[0]+"/"+string(p), func(t *testing.T) { runIfInstalled(t, p, argv) })
		}
	}
	interfaces := []string{"python3", "-c", "import socket; socket.if_nameindex()"}
	t.Run("interfaces", func(t *testing.T) { runIfInstalled(t, seccomp.Default, interfaces) })
}

func runIfInstalled(t *testing.T, p seccomp.Profile, argv []string) {
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Skipf("needs %s", argv[0])
	}
	run(t, p, "", argv...)
}

func run(t *testing.T, p seccomp.Profile, without string, argv ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, argv...)
	cmd.Env = append(os.Environ(), childEnv+"="+string(p), withoutEnv+"="+without)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return string(out)
}
