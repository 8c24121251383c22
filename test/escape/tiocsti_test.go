package escape

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func tiocsti() attack {
	return attack{
		Class: kernelClass, Name: "tiocsti", CVE: "CVE-2019-10063",
		Attack: "type into the controlling terminal with TIOCSTI, plain and with junk in the high bits",
		Proves: "a program cannot type for the person at the terminal",
		// Only the leader of a session can have a controlling terminal.
		Run: func() error {
			v, err := again(&syscall.SysProcAttr{Setsid: true}, "/proc/self/exe")
			if err != nil {
				return err
			}
			return (&attempts{v}).result()
		},
		Child: func() error {
			tty, err := controllingTerminal()
			if err != nil {
				return err
			}
			defer tty.Close()
			key := byte('x')
			var a attempts
			a.try("TIOCSTI", call(unix.SYS_IOCTL, tty.Fd(), unix.TIOCSTI, pointer(&key)))
			a.try("high bits", call(unix.SYS_IOCTL, tty.Fd(), 1<<32|unix.TIOCSTI, pointer(&key)))
			// A pseudo terminal knows no TIOCLINUX, but is asked.
			a.try("TIOCLINUX", reached(call(unix.SYS_IOCTL, tty.Fd(), unix.TIOCLINUX, pointer(&key)), unix.ENOTTY))
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"ioctl"},
	}
}

// controllingTerminal makes a new pseudo terminal that of our session.
func controllingTerminal() (*os.File, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	return tty, unix.IoctlSetInt(int(tty.Fd()), unix.TIOCSCTTY, 0)
}
