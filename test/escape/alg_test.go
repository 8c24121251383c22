package escape

import "golang.org/x/sys/unix"

func alg() attack {
	return attack{
		Class: kernelClass, Name: "af-alg",
		Attack: "use the kernel's cryptography with AF_ALG",
		Proves: "rare socket families are closed",
		Run: func() error {
			fd, err := unix.Socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
		Denied: errnos(unix.EAFNOSUPPORT),
		Fence:  []string{"socket"},
		Second: "a kernel built without AF_ALG", SecondErrno: errnos(unix.EAFNOSUPPORT),
	}
}
