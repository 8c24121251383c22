package escape

import (
	"fmt"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func pid1Starve() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-starve",
		Attack: "give PID 1 and its threads the lowest priority by every scheduling call",
		Proves: "a program cannot slow PID 1 down by asking the scheduler",
		Run: func() error {
			const idleIO = 3 << 13 // IOPRIO_CLASS_IDLE
			var a attempts
			for _, tid := range initThreads() {
				id := uintptr(tid)
				param := int32(0)
				attr := unix.SchedAttr{Size: uint32(unsafe.Sizeof(unix.SchedAttr{})), Policy: unix.SCHED_IDLE}
				a.try(fmt.Sprint("setpriority ", tid), unix.Setpriority(unix.PRIO_PROCESS, tid, 19))
				a.try(fmt.Sprint("sched_setscheduler ", tid), call(unix.SYS_SCHED_SETSCHEDULER, id, unix.SCHED_BATCH, pointer(&param)))
				a.try(fmt.Sprint("sched_setparam ", tid), call(unix.SYS_SCHED_SETPARAM, id, pointer(&param)))
				a.try(fmt.Sprint("sched_setattr ", tid), unix.SchedSetAttr(tid, &attr, 0))
				a.try(fmt.Sprint("ioprio_set ", tid), call(unix.SYS_IOPRIO_SET, 1, id, idleIO))
			}
			a.try("sched_setaffinity", unix.SchedSetaffinity(1, &unix.CPUSet{1}))
			return a.result()
		},
		After:  func(t *testing.T, b *box) error { return b.answers(t) },
		Denied: errnos(unix.EPERM),
		Fence:  []string{"setpriority", "sched_setscheduler", "sched_setparam", "sched_setattr", "ioprio_set", "sched_setaffinity"},
		Second: "bounding: PID 1 has capabilities that programs lack", SecondErrno: errnos(unix.EPERM),
		Both: []string{"bounding"},
	}
}
