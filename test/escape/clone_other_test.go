package escape

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func cloneOther() attack {
	return attack{
		Class: kernelClass, Name: "clone",
		Attack: "make a mount, pid, network, uts or ipc namespace with clone",
		Proves: "no program leaves the namespaces it was born in",
		Run: func() error {
			var a attempts
			for name, flag := range map[string]uintptr{
				"uts": unix.CLONE_NEWUTS, "ipc": unix.CLONE_NEWIPC, "net": unix.CLONE_NEWNET,
				"pid": unix.CLONE_NEWPID, "mount": unix.CLONE_NEWNS,
			} {
				_, err := again(&syscall.SysProcAttr{Cloneflags: flag}, "/proc/self/exe")
				a.try(name, err)
			}
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"clone"},
		Second: "bounding: programs lack the capability", SecondErrno: errnos(unix.EPERM),
		Both:  []string{"bounding"},
		Child: fine,
	}
}
