package escape

import (
	"golang.org/x/sys/unix"
)

func vsock() attack {
	return attack{
		Class: kernelClass, Name: "vsock",
		Attack: "talk to the hypervisor with AF_VSOCK",
		Proves: "rare socket families are closed",
		Run: func() error {
			fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
		Denied: errnos(unix.EAFNOSUPPORT),
		Fence:  []string{"socket"},
	}
}
