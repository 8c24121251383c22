package pid1

import (
	"os"
	"strconv"
	"strings"
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
	in.hangUpTerminals()
	_ = unix.Kill(-1, unix.SIGTERM) // ESRCH: the last one has just ended
	_ = unix.Kill(-1, unix.SIGCONT) // a stopped program cannot act on SIGTERM
	killer := time.AfterFunc(grace, func() { _ = unix.Kill(-1, unix.SIGKILL) })
	defer killer.Stop()
	for in.count > 0 {
		in.children.Wait()
	}
}

// hangUpTerminals tells what leads a terminal and ignores SIGTERM that nobody is
// there any more: an interactive shell does so, and would use up the whole grace
// period. The others are left to SIGTERM, which they may handle. It is called
// with the lock held.
func (in *Init) hangUpTerminals() {
	for _, t := range in.terminals {
		if t.run.Load() != nil && ignores(t.program.pid, unix.SIGTERM) {
			_ = unix.Kill(t.program.pid, unix.SIGHUP) // it may have ended
		}
	}
}

// ignores reports whether a process ignores a signal.
func ignores(pid int, sig unix.Signal) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	_, rest, found := strings.Cut(string(text), "\nSigIgn:\t")
	mask, err := strconv.ParseUint(rest[:min(16, len(rest))], 16, 64)
	return found && err == nil && mask&(1<<(sig-1)) != 0
}
