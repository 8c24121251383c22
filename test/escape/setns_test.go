package escape

import (
	"runtime"

	"golang.org/x/sys/unix"
)

func setns() attack {
	return attack{
		Class: kernelClass, Name: "setns",
		Attack: "enter a namespace through /proc/self/ns",
		Proves: "setns is closed",
		Run: func() error {
			runtime.LockOSThread()
			var a attempts
			for _, name := range []string{"uts", "ipc", "net"} {
				fd, err := unix.Open("/proc/self/ns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
				if err != nil {
					return err
				}
				a.try(name, unix.Setns(fd, 0))
				unix.Close(fd)
			}
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"setns"},
		Second: "bounding: programs lack the capability", SecondErrno: errnos(unix.EPERM),
		Both: []string{"bounding"},
	}
}
