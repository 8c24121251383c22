package escape

import "golang.org/x/sys/unix"

func pidfdGetfd() attack {
	return attack{
		Class: kernelClass, Name: "pidfd-getfd",
		Attack: "take a descriptor out of PID 1 with pidfd_getfd",
		Proves: "PID 1's sockets and mounts stay its own",
		Run: func() error {
			pidfd, err := unix.PidfdOpen(1, 0)
			if err != nil {
				return err
			}
			_, err = unix.PidfdGetfd(pidfd, 3, 0)
			return err
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"pidfd_getfd"},
		Second: "dumpable and bounding: PID 1 is not traceable", SecondErrno: errnos(unix.EPERM),
		Both: []string{"dumpable", "bounding"},
	}
}
