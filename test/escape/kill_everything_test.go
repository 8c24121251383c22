package escape

import (
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func killEverything() attack {
	return attack{
		Class: runtimeClass, Name: "kill-everything",
		Attack: "kill -9 -1",
		Proves: "PID 1 is left, and nothing outside is reached",
		Run: func() error {
			err := unix.Kill(-1, unix.SIGKILL)
			if err != nil {
				return err
			}
			return nothing("PID 1 is left")
		},
		After: func(t *testing.T, b *box) error { return b.answers(t) },
		Control: func() error { // it does kill what it reaches
			cmd := exec.Command("sleep", "1000")
			if err := cmd.Start(); err != nil {
				return err
			}
			if err := unix.Kill(-1, unix.SIGKILL); err != nil {
				return err
			}
			_ = cmd.Wait() // its status is looked at below
			if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != unix.SIGKILL {
				return nothing("the child ended with %v", ws)
			}
			return nil
		},
		Denied: errnos(unix.ENODATA, unix.ESRCH),
		Fixed:  "pid namespace: its first process takes SIGKILL from outside only",
	}
}
