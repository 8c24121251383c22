package escape

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func unshareUser() attack {
	return attack{
		Class: kernelClass, Name: "unshare-user",
		Attack: "make a user namespace with unshare",
		Proves: "no program gets a namespace in which it has all capabilities",
		Run: func() error {
			_, err := again(&syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWUSER}, "/proc/self/exe")
			return err
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"unshare"},
		Child:  fine,
	}
}
