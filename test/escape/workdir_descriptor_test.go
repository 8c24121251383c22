package escape

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

func workdirDescriptor() attack {
	return attack{
		Class: runtimeClass, Name: "workdir-descriptor", CVE: "CVE-2024-21626",
		Attack: "have a program started in /proc/self/fd/N, a directory the runtime still has open",
		Proves: "a working directory is never reached through PID 1's descriptors",
		Drive: func(t *testing.T, b *box) error {
			var a attempts
			for fd := range 24 {
				dir := fmt.Sprintf("/proc/self/fd/%d", fd)
				a.try(dir, startIn(t, b, dir))
			}
			return a.result()
		},
		Denied: errnos(unix.ELOOP, unix.ENOENT),
		Fence:  []string{"magic-links"},
		Second: "PID 1 has no directory open", SecondErrno: errnos(unix.ENOTDIR, unix.ENOENT),
	}
}
