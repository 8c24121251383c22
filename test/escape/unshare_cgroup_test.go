package escape

import (
	"runtime"

	"golang.org/x/sys/unix"
)

func unshareCgroup() attack {
	return attack{
		Class: kernelClass, Name: "unshare-cgroup",
		Attack: "take off the cgroup namespace by which a tree of processes is found again",
		Proves: "the mark that killing a tree relies on stays",
		Run: func() error {
			runtime.LockOSThread()
			return call(unix.SYS_UNSHARE, unix.CLONE_NEWCGROUP)
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"bounding"},
	}
}
