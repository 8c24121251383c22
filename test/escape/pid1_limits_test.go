package escape

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func pid1Limits() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-limits",
		Attack: "take descriptors from PID 1 with prlimit, naming it or any of its threads",
		Proves: "PID 1's resource limits are its own",
		Run: func() error {
			var a attempts
			for _, tid := range initThreads() {
				limit := unix.Rlimit{Cur: 64, Max: 64}
				a.try(fmt.Sprint("thread ", tid), unix.Prlimit(tid, unix.RLIMIT_MEMLOCK, &limit, nil))
			}
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"prlimit64"},
	}
}
