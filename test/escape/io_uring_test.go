package escape

import "golang.org/x/sys/unix"

func ioUring() attack {
	return attack{
		Class: kernelClass, Name: "io-uring",
		Attack: "make system calls through io_uring, past the filter",
		Proves: "io_uring is closed",
		Run: func() error {
			params := [120]byte{}
			fd, err := value(unix.SYS_IO_URING_SETUP, 4, pointer(&params))
			if err != nil {
				return err
			}
			return unix.Close(int(fd))
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"io_uring_setup"},
	}
}
