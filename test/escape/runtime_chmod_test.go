package escape

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

func runtimeChmod() attack {
	return attack{
		Class: runtimeClass, Name: "runtime-chmod", CVE: "CVE-2019-5736",
		Attack:  "take the execute permission from the runtime's program, which all sandboxes of a daemon share",
		Proves:  "one sandbox cannot keep the next from starting",
		Private: true,
		Run: func() error {
			fd, err := huntRuntime()
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0)
		},
		During: takeBait,
		After: func(t *testing.T, b *box) error {
			if r := b.home.Coop(t, "run", "--mode", "none", "--", "true"); r.Code != 0 {
				return fmt.Errorf("no new sandbox starts: %s", r.Stderr)
			}
			return nil
		},
		Control: func() error {
			fd, err := unix.MemfdCreate("control", unix.MFD_CLOEXEC)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0)
		},
		Denied: errnos(unix.EPERM),
		Fixed:  "the memory file's mode is sealed or its owner has no id inside",
	}
}
