package escape

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func pid1OOM() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-oom",
		Attack: "make PID 1 the first victim when memory runs out, through /proc/1/oom_score_adj",
		Proves: "a memory shortage ends a program, not the sandbox",
		Run: func() error {
			var a attempts
			for _, tid := range initThreads() {
				p := fmt.Sprintf("/proc/%d/oom_score_adj", tid)
				a.try(p, os.WriteFile(p, []byte("900"), 0))
			}
			return a.result()
		},
		Control: func() error { return os.WriteFile("/proc/self/oom_score_adj", []byte("900"), 0) },
		Denied:  errnos(unix.EACCES, unix.EPERM, unix.EROFS),
		Fixed:   "PID 1's /proc files belong to nobody inside, or are read-only",
	}
}
