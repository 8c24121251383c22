package escape

import "golang.org/x/sys/unix"

func userfaultfd() attack {
	return attack{
		Class: kernelClass, Name: "userfaultfd",
		Attack: "stall the kernel at will with userfaultfd",
		Proves: "the favourite tool for winning kernel races is gone",
		Run: func() error {
			const userModeOnly = 1
			fd, err := value(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|userModeOnly)
			if err != nil {
				return err
			}
			return unix.Close(int(fd))
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"userfaultfd"},
	}
}
