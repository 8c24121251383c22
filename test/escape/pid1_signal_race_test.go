package escape

import (
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func pid1SignalRace() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-signal-race",
		Attack: "kill PID 1 with SIGTERM in the moment in which its first thread handles SIGURG",
		Proves: "PID 1's first thread never blocks a signal that another thread would take",
		// While the thread-group leader blocks a signal the kernel does not drop
		// it, and complete_signal() then finds another thread that takes it: the
		// default action ends the group without asking whether it is PID 1.
		Run: func() error {
			stop := make(chan struct{})
			var urgent sync.WaitGroup
			urgent.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_ = unix.Kill(1, unix.SIGURG) // PID 1 is always there
					}
				}
			})
			for range 50000 {
				for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGURG, unix.SIGHUP} {
					_ = unix.Kill(1, sig)
				}
			}
			close(stop)
			urgent.Wait()
			return nothing("PID 1 is left")
		},
		After:  func(t *testing.T, b *box) error { return b.answers(t) },
		Denied: errnos(unix.ENODATA),
		Fence:  []string{"signals"},
		Ends:   true,
	}
}
