package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/pidfd"
)

// keep runs the tests in a child and looks after it.
func keep(o Options) int {
	runtime.LockOSThread() // Pdeathsig is about the thread that started the child
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return complain(fmt.Errorf("become subreaper: %w", err))
	}
	scratch, err := os.MkdirTemp("", "coop-test-")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(scratch)
	bin, err := binary(o.Tags, scratch)
	if err != nil {
		return complain(err)
	}
	home, remove, err := sharedHome()
	if err != nil {
		return complain(err)
	}
	code, err := runInner(bin, home)
	if err != nil {
		return complain(err)
	}
	h := Instance{Dir: home}
	left := append(h.Sweep(bin), killDescendants()...)
	if code != 0 || len(left) > 0 {
		showLog(home)
	}
	if len(left) > 0 {
		code = complain(fmt.Errorf("left behind after all tests:\n%w", errors.Join(left...)))
	}
	if err := remove(); err != nil {
		code = complain(fmt.Errorf("remove the home: %w", err))
	}
	return code
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "harness:", err)
	return 1
}

// sharedHome is short, because unix socket addresses are.
func sharedHome() (dir string, remove func() error, err error) {
	if dir := os.Getenv("COOP_TEST_HOME"); dir != "" {
		return dir, func() error { return nil }, os.MkdirAll(dir, 0o700)
	}
	dir, err = os.MkdirTemp("/tmp", "ch")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// runInner runs this program again, as the one that tests, and collects every
// process that is adopted meanwhile.
func runInner(bin, home string) (int, error) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), envBin+"="+bin, envHome+"="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, os.NewSyscallError("wait4", err)
		case pid == cmd.Process.Pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case pid == cmd.Process.Pid:
			return status.ExitStatus(), nil
		}
	}
}

// killDescendants reports and ends what the sweep has not.
func killDescendants() []error {
	collect()
	var left []error
	for _, p := range descendants(os.Getpid()) {
		if p.pid == os.Getpid() {
			continue
		}
		left = append(left, fmt.Errorf("process %d: %s", p.pid, p))
		if f, err := pidfd.Open(p.pid); err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			_ = f.Kill() // not ours to kill when it is a sandbox's: its PID 1 takes it along
			_ = f.Wait(ctx)
			cancel()
			_ = f.Close()
		}
	}
	return left
}

// collect takes the exit status of adopted processes that have ended.
func collect() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}

// showLog prints the end of the daemon's log.
func showLog(home string) {
	b, err := os.ReadFile(filepath.Join(home, "daemon.log"))
	if err != nil {
		return
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	lines = lines[max(0, len(lines)-40):]
	fmt.Fprintf(os.Stderr, "--- end of daemon.log\n%s---\n", bytes.Join(lines, nil))
}
