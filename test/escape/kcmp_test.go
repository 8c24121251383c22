package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

func kcmp() attack {
	return attack{
		Class: kernelClass, Name: "kcmp",
		Attack: "compare kernel objects of PID 1 with kcmp",
		Proves: "kcmp is closed, and PID 1 is not traceable",
		Run: func() error {
			const compareVM = 1
			return call(unix.SYS_KCMP, 1, uintptr(os.Getpid()), compareVM, 0, 0)
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"kcmp"},
		Second: "dumpable and bounding: PID 1 is not traceable", SecondErrno: errnos(unix.EPERM),
		Both: []string{"dumpable", "bounding"},
	}
}
