package escape

import "golang.org/x/sys/unix"

func leakedDescriptors() attack {
	return attack{
		Class: runtimeClass, Name: "leaked-descriptors", CVE: "CVE-2024-21626",
		Attack: "look for a descriptor of the runtime beyond 0, 1 and 2",
		Proves: "a program is born with its own three descriptors only",
		Run: func() error {
			for fd := uintptr(3); fd < 4096; fd++ {
				// One made by our own Go runtime would be close-on-exec.
				if flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
					return nil
				}
			}
			return refused(unix.EBADF, "descriptors 3 to 4095")
		},
		Denied: errnos(unix.EBADF),
		Fence:  []string{"close-fds"},
	}
}
