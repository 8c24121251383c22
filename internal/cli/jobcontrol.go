package cli

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// canStop tells whether somebody is there who would continue us: a parent of
// our process group in the same session but in another group, which is what a
// shell with job control is. Without one the kernel ignores SIGTSTP (an
// orphaned process group, credentials(7)), and so must we.
func canStop() bool {
	self, ok := readJob(os.Getpid())
	for pid := self.parent; ok && pid > 1; {
		var parent job
		if parent, ok = readJob(pid); !ok || parent.session != self.session {
			return false
		}
		if parent.group != self.group {
			return true
		}
		pid = parent.parent
	}
	return false
}

type job struct{ parent, group, session int }

func readJob(pid int) (job, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return job{}, false
	}
	return parseJob(string(data))
}

// parseJob reads proc_pid_stat(5). The second field is a name in brackets that
// may contain anything, brackets too.
func parseJob(stat string) (j job, ok bool) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return job{}, false
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 4 {
		return job{}, false
	}
	for i, into := range []*int{&j.parent, &j.group, &j.session} {
		n, err := strconv.Atoi(fields[i+1])
		if err != nil {
			return job{}, false
		}
		*into = n
	}
	return j, true
}

// stopSelf stops this process. SIGTSTP would not do: once the Go runtime has
// had a handler for it, its default action does not come back.
func stopSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(syscall.SIGSTOP)
}
