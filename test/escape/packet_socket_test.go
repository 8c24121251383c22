package escape

import (
	"golang.org/x/sys/unix"
)

func packetSocket() attack {
	return attack{
		Class: kernelClass, Name: "packet-socket",
		Attack: "open a packet socket",
		Proves: "no raw frames",
		Run: func() error {
			var a attempts
			fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0x0300)
			a.try("AF_PACKET", err)
			unix.Close(fd)
			fd, err = unix.Socket(unix.AF_INET, unix.SOCK_PACKET, 0x0300)
			a.try("SOCK_PACKET", err)
			unix.Close(fd)
			return a.result()
		},
		Denied: errnos(unix.EAFNOSUPPORT, unix.EPERM),
		Fence:  []string{"socket"},
		Second: "bounding: programs lack the capability", SecondErrno: errnos(unix.EPERM),
		Both: []string{"bounding"},
	}
}
