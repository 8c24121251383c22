package escape

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

func ptraceSibling() attack {
	return attack{
		Class: kernelClass, Name: "ptrace-own",
		Attack: "trace another program of the same sandbox",
		Proves: "the probe that fails on PID 1 works where it should",
		Run: func() error {
			runtime.LockOSThread()
			cmd := exec.Command("sleep", "1000")
			if err := cmd.Start(); err != nil {
				return err
			}
			err := trace(unix.PTRACE_SEIZE, cmd.Process.Pid)
			_ = cmd.Process.Kill() // it has served
			return err
		},
		Allowed: "debuggers work; a sandbox is one trust domain",
	}
}
