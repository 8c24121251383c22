package escape

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func forgedExit() attack {
	return attack{
		Class: runtimeClass, Name: "forged-exit",
		Attack: "make PID 1 one's tracer with PTRACE_TRACEME and stop, which its wait may take for the end",
		Proves: "a program that still runs is not reported as ended",
		Drive: func(t *testing.T, b *box) error {
			b.exec = []string{"--timeout", "3s"}
			r := b.home.Coop(t, b.command("forged-exit", partChild)...)
			if r.Code == 124 || strings.Contains(r.Stderr, "timed out") {
				return refused(unix.ETIMEDOUT, "the program counts as running")
			}
			if v, ok := readVerdict(r.Stdout); ok {
				return nothing("PTRACE_TRACEME: %v", v)
			}
			t.Logf("reported as ended with status %d: %s", r.Code, r.Stderr)
			return nil
		},
		Child:  stopTraced,
		Denied: errnos(unix.ETIMEDOUT, unix.ENODATA),
		Fixed:  "PID 1 tells a stop from an end",
	}
}

// stopTraced never ends by itself.
func stopTraced() error {
	runtime.LockOSThread()
	if err := call(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0); err != nil {
		return err
	}
	return unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // stopped until we are killed
}
