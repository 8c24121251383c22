package escape

import (
	"golang.org/x/sys/unix"
)

func kernelLog() attack {
	return attack{
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
	}
}
