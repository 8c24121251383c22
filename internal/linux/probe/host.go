package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// host is where the facts are read; tests put files of their own in place.
type host struct {
	proc, etc string
	exe       string // this binary, as an administrator would name it
	home      string
	uid       int
	usable    Check // the answer about user namespaces
}

func newHost(o Options) *host {
	exe, err := os.Executable()
	if err != nil {
		exe = "/usr/local/bin/coop" // only shown in a hint
	}
	return &host{proc: "/proc", etc: "/etc", exe: exe, home: o.Home, uid: os.Geteuid()}
}

// sysctl reads a kernel setting; absent is the empty string.
func (h *host) sysctl(name string) string {
	data, err := os.ReadFile(filepath.Join(h.proc, "sys", strings.ReplaceAll(name, ".", "/")))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// mappedIDs counts the user ids that exist in this process's user namespace.
func (h *host) mappedIDs() int64 {
	data, err := os.ReadFile(filepath.Join(h.proc, "self/uid_map"))
	if err != nil {
		return 1<<32 - 1 // a kernel without user namespaces has them all
	}
	var total int64
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 3 {
			n, _ := strconv.ParseInt(fields[2], 10, 64) // written by the kernel
			total += n
		}
	}
	return total
}

// realRoot tells root of the machine from uid 0 in a user namespace, such as the
// daemon of an ordinary user has.
func (h *host) realRoot() bool { return h.uid == 0 && h.mappedIDs() == 1<<32-1 }

// mountPoints lists the fifth column of mountinfo.
func (h *host) mountPoints() []string {
	data, err := os.ReadFile(filepath.Join(h.proc, "self/mountinfo"))
	if err != nil {
		return nil
	}
	var points []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			points = append(points, fields[4])
		}
	}
	return points
}

// refused is the one form of a failing Detail.
func refused(step string, err error) string { return fmt.Sprintf("%s: %v", step, err) }
