package pid1

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notDumpable makes PID 1 untraceable and closes /proc/1/{exe,root,fd,mem,environ}
// to everyone inside.
func notDumpable() error {
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// ksigaction is the kernel's struct sigaction on 64-bit machines.
type ksigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// defaultSignals takes Go's handlers away. The kernel drops a signal sent to
// PID 1 from its own namespace only while the action is the default one: a Go
// program that handles or ignores signals can be killed from inside with
// rt_sigqueueinfo(1, SIGSEGV), because its handler dies of a forged fault. Not one
// handler may stay, not even for SIGURG: while it runs other signals are blocked,
// so the kernel queues instead of dropping them and later lets them kill. The
// daemon therefore starts us with asynchronous preemption off.
func defaultSignals() error {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if sig == unix.SIGKILL || sig == unix.SIGSTOP {
			continue
		}
		act := ksigaction{}
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
		if errno != 0 {
			return fail("sigaction", sig.String(), errno)
		}
	}
	return nil
}
