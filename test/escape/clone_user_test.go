package escape

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func cloneUser() attack {
	return attack{
		Class: kernelClass, Name: "clone-user",
		Attack: "make a user namespace with clone",
		Proves: "no program gets a namespace in which it has all capabilities",
		Run: func() error {
			_, err := again(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}, "/proc/self/exe")
			return err
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"clone"},
		Child:  fine,
	}
}
