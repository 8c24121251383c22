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
	in.ending = true
	defer func() { in.ending = false }()
	if in.count == 0 {
		return
	}
	_ = unix.Kill(-1, unix.SIGTERM) // ESRCH: the last one has just ended
	_ = unix.Kill(-1, unix.SIGCONT) // a stopped program cannot act on SIGTERM
	killer := time.AfterFunc(grace, func() { _ = unix.Kill(-1, unix.SIGKILL) })
	defer killer.Stop()
	for in.count > 0 {
		in.children.Wait()
	}
}
