package pid1

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxLooks bounds how often a kill looks again for processes that vanish while
// it looks: a chain of programs that fork and end at once can hide from any one
// look, but hardly from a thousand.
const maxLooks = 1000

// killTree kills every process that carries a tag, until a look around finds
// none. A process cannot take the tag off: that needs CAP_SYS_ADMIN.
func killTree(tag string) {
	for look := 0; ; look++ {
		doomed, vanished := tagged(tag)
		if len(doomed) == 0 && (vanished == 0 || look >= maxLooks) {
			return
		}
		for _, fd := range doomed {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // ESRCH: it ended by itself
		}
		for _, fd := range doomed {
			awaitEnd(fd)
			unix.Close(fd)
		}
	}
}

// tagged gives pidfds of the processes with a tag, and how many processes were
// gone before they could be looked at. The pidfd is taken first and the tag read
// after, so that a reused pid cannot be mistaken.
func tagged(tag string) (found []int, vanished int) {
	for _, pid := range processIDs() {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			vanished++
			continue
		}
		t, err := readLink("/proc/" + strconv.Itoa(pid) + "/ns/cgroup")
		if err == nil && t == tag {
			found = append(found, fd)
			continue
		}
		if (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)) && !zombie(pid) {
			vanished++
		}
		unix.Close(fd)
	}
	return found, vanished
}

// zombie reports whether a process has ended and only waits to be collected; it
// has no namespaces any more.
func zombie(pid int) bool {
	p, ok := describe(pid, 0)
	return ok && p.State == "Z"
}

// awaitEnd blocks until the process of a pidfd has ended.
func awaitEnd(pidfd int) {
	p := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(p, -1); err != unix.EINTR {
			return
		}
	}
}

// processIDs lists every process here but ourselves.
func processIDs() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // a partial list is followed by another look
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}
