package escape

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func pid1Affinity() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-affinity",
		Attack: "pin PID 1's threads to one processor, so that later programs inherit it",
		Proves: "what is started next has all processors again",
		Run: func() error {
			one := unix.CPUSet{1}
			for _, tid := range initThreads()[1:] { // the filter knows PID 1, not its threads
				if err := unix.SchedSetaffinity(tid, &one); err != nil {
					return err
				}
			}
			return nothing("threads are pinned; the next program decides")
		},
		After: func(t *testing.T, b *box) error {
			if n := b.sh(t, "nproc"); n != fmt.Sprint(runtime.NumCPU()) {
				return fmt.Errorf("a new program has %s of %d processors", n, runtime.NumCPU())
			}
			return nil
		},
		Control: func() error {
			runtime.LockOSThread()
			one := unix.CPUSet{1}
			if err := unix.SchedSetaffinity(0, &one); err != nil {
				return err
			}
			var now unix.CPUSet
			if err := unix.SchedGetaffinity(0, &now); err != nil || now.Count() != 1 {
				return nothing("own thread has %d processors, %v", now.Count(), err)
			}
			return nil
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"bounding"},
		Second: "PID 1 widens its spawner's mask before each start", SecondErrno: errnos(unix.ENODATA),
	}
}
