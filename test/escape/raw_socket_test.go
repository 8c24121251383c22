package escape

import (
	"golang.org/x/sys/unix"
)

func rawSocket() attack {
	return attack{
		Class: kernelClass, Name: "raw-socket",
		Attack: "open raw ICMP and TCP sockets",
		Proves: "no forged packets",
		Run: func() error {
			var a attempts
			for name, proto := range map[string]int{"ICMP": unix.IPPROTO_ICMP, "TCP": unix.IPPROTO_TCP, "RAW": unix.IPPROTO_RAW} {
				fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, proto)
				a.try(name, err)
				unix.Close(fd)
			}
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"socket"},
		Second: "bounding: programs lack the capability", SecondErrno: errnos(unix.EPERM),
		Both: []string{"bounding"},
	}
}
