package escape

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func hostProcesses() attack {
	return attack{
		Class: idsClass, Name: "host-processes",
		Attack: "see and signal processes of the host",
		Proves: "a sandbox knows its own processes only",
		Host: func(t *testing.T, b *box) {
			victim := exec.Command("sleep", "1000")
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = victim.Process.Kill()
				_ = victim.Wait() // killed
			})
			b.env["COOP_TARGET"] = strconv.Itoa(victim.Process.Pid)
		},
		Run: func() error {
			pid, err := strconv.Atoi(os.Getenv("COOP_TARGET"))
			if err != nil {
				return err
			}
			return touch(pid)
		},
		Control: func() error { return touch(os.Getpid()) },
		Denied:  errnos(unix.ESRCH, unix.ENOENT),
		Fixed:   "pid namespace with a /proc of its own",
	}
}

// touch looks at a process and asks whether it could be signalled.
func touch(pid int) error {
	var a attempts
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	a.try("stat", err)
	a.try("kill", unix.Kill(pid, 0))
	_, err = unix.PidfdOpen(pid, 0)
	a.try("pidfd_open", err)
	return a.result()
}
