package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// process is one line of /proc.
type process struct {
	pid, ppid int
	state     string
	comm      string
	cmdline   string
}

func (p process) String() string {
	return fmt.Sprintf("%s (%s, state %s, parent %d)", p.cmdline, p.comm, p.state, p.ppid)
}

// descendants finds every living process below root, in whatever namespace.
func descendants(root int) []process {
	children := map[int][]process{}
	entries, _ := os.ReadDir("/proc") // unreadable: nothing is found, and a test of this package says so
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok {
			children[p.ppid] = append(children[p.ppid], p)
		}
	}
	var found []process
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			next = append(next, p.pid)
			found = append(found, p)
		}
	}
	return found
}

// readProcess reads what everybody may read of a process; one that has ended
// since, or is a zombie, does not count.
func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	s := string(stat)
	open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	fields := strings.Fields(s[end+1:])
	if open < 0 || len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
		return process{}, false
	}
	ppid, _ := strconv.Atoi(fields[1]) // the kernel wrote it
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return process{
		pid: pid, ppid: ppid, state: fields[0], comm: s[open+1 : end],
		cmdline: strings.TrimSpace(strings.ReplaceAll(string(cmdline), "\x00", " ")),
	}, true
}
