package pid1

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// killTree kills every process that carries a tag, until a look around finds
// none. A process cannot take the tag off: that needs CAP_SYS_ADMIN.
func killTree(tag string) {
	for {
		doomed := tagged(tag)
		if len(doomed) == 0 {
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

// tagged gives pidfds of the processes with a tag. The pidfd is taken first and
// the tag read after, so that a reused pid cannot be mistaken.
func tagged(tag string) []int {
	var found []int
	for _, pid := range processIDs() {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if t, err := readLink("/proc/" + strconv.Itoa(pid) + "/ns/cgroup"); err != nil || t != tag {
			unix.Close(fd)
			continue
		}
		found = append(found, fd)
	}
	return found
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
