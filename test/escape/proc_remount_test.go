package escape

import (
	"golang.org/x/sys/unix"
)

func procUncover() attack {
	return attack{
		Class: kernelClass, Name: "uncover-proc",
		Attack: "unmount what covers /proc/sys and the masked files",
		Proves: "the masks cannot be taken off",
		Run: func() error {
			var a attempts
			for _, p := range []string{"/proc/sys", "/proc/interrupts", "/sys/firmware"} {
				a.try(p, unix.Unmount(p, unix.MNT_DETACH))
			}
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"umount2"},
		Second: "bounding: programs lack the capability", SecondErrno: errnos(unix.EPERM),
		Both: []string{"bounding"},
	}
}
