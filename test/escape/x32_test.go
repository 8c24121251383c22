package escape

import (
	"golang.org/x/sys/unix"
)

func x32() attack {
	return attack{
		Class: kernelClass, Name: "x32",
		Attack: "make x32 calls, whose numbers a careless filter does not know",
		Proves: "the second set of numbers is closed",
		Run: func() error {
			const bit = 0x40000000
			return call(bit | unix.SYS_GETPID)
		},
		Denied: errnos(unix.ENOSYS),
		Fence:  []string{"x32"},
		Second: "a kernel built without x32", SecondErrno: errnos(unix.ENOSYS),
	}
}
