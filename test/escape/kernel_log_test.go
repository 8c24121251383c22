package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

func kernelLog() attack {
	a := attack{
		Class: kernelClass, Name: "kernel-log",
		Attack: "read the kernel log",
		Proves: "no addresses, no host messages",
		Run: func() error {
			buf := make([]byte, 4096)
			_, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, buf)
			return err
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"syslog"},
	} // Where the host keeps the log from ordinary users, that holds too.
	if b, err := os.ReadFile("/proc/sys/kernel/dmesg_restrict"); err == nil && b[0] == '1' {
		a.Second, a.SecondErrno = "kernel.dmesg_restrict", errnos(unix.EPERM)
	}
	return a
}
