package escape

import (
	"runtime"

	"golang.org/x/sys/unix"
)

func unshareOther() attack {
	return attack{
		Class: kernelClass, Name: "unshare",
		Attack: "make a mount, pid, network, uts, ipc or time namespace with unshare",
		Proves: "no program leaves the namespaces it was born in",
		Run: func() error {
			runtime.LockOSThread()
			var a attempts
			for name, flag := range map[string]uintptr{
				"uts": unix.CLONE_NEWUTS, "ipc": unix.CLONE_NEWIPC, "net": unix.CLONE_NEWNET,
				"pid": unix.CLONE_NEWPID, "time": unix.CLONE_NEWTIME, "mount": unix.CLONE_NEWNS,
			} {
				a.try(name, call(unix.SYS_UNSHARE, flag))
			}
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"unshare"},
		Second: "bounding: programs lack the capability", SecondErrno: errnos(unix.EPERM),
		Both: []string{"bounding"},
	}
}
