package escape

import (
	"runtime"

	"golang.org/x/sys/unix"
)

func pid1Ptrace() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-ptrace",
		Attack: "attach to PID 1 or one of its threads with ptrace",
		Proves: "no program gets hold of the one that has all capabilities",
		Run: func() error {
			runtime.LockOSThread() // a tracer is a thread
			var a attempts
			for _, tid := range initThreads() {
				a.try("seize", trace(unix.PTRACE_SEIZE, tid))
			}
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"dumpable"},
		Second: "bounding: PID 1 has capabilities that programs lack", SecondErrno: errnos(unix.EPERM),
		Opens: []string{"bounding"},
		Ends:  true,
	}
}

// trace attaches without stopping; the end of the tracer detaches.
func trace(request, tid int) error {
	return call(unix.SYS_PTRACE, uintptr(request), uintptr(tid), 0, 0)
}
