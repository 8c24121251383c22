package pid1

import (
	"time"

	"golang.org/x/sys/unix"
)

// terminate ends every program: SIGTERM for all, and SIGKILL for what is left
// after the grace period. It returns when we are alone.
func (in *Init) terminate(grace time.Duration) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.count == 0 {
		return
	}
	in.hangUpTerminals()
	_ = unix.Kill(-1, unix.SIGTERM) // ESRCH: the last one has just ended
	_ = unix.Kill(-1, unix.SIGCONT) // a stopped program cannot act on SIGTERM
	killer := time.AfterFunc(grace, func() { _ = unix.Kill(-1, unix.SIGKILL) })
	defer killer.Stop()
	for in.count > 0 {
		in.children.Wait()
	}
}

// hangUpTerminals tells what leads a terminal that nobody is there any more: an
// interactive shell ignores SIGTERM and would use up the whole grace period. It
// is called with the lock held.
func (in *Init) hangUpTerminals() {
	for _, t := range in.terminals {
		if t.run.Load() != nil {
			_ = unix.Kill(t.program.pid, unix.SIGHUP) // it may have ended
		}
	}
}
