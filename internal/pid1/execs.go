package pid1

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// hello tells a new daemon what its predecessor left.
func (in *Init) hello() *initproto.Hello {
	in.mu.Lock()
	defer in.mu.Unlock()
	h := &initproto.Hello{Version: initproto.Version}
	for _, e := range in.execs {
		if e.run == nil && e.used() {
			h.Execs = append(h.Execs, e.wire())
		}
	}
	h.Terminals, h.NextTerminal = in.wireTerminals(), in.nextTerminal
	slices.SortFunc(h.Execs, func(a, b initproto.Exec) int { return strings.Compare(a.ID, b.ID) })
	return h
}

// adopt gives the pipe ends of one of them: stdin if it is still open, then
// stdout and stderr. They are duplicates: the originals may be closed, and their
// numbers given away, before these are sent.
func (in *Init) adopt(id string) ([]int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	e := in.execs[id]
	if e == nil || e.run != nil {
		return nil, fail("adopt", id, unix.ESRCH)
	}
	ends := e.output
	if e.stdin >= 0 {
		ends = append([]int{e.stdin}, e.output...)
	}
	dups, err := duplicate(ends)
	return dups, fail("adopt", id, err)
}

// duplicate gives second descriptors, all or none.
func duplicate(fds []int) ([]int, error) {
	var dups []int
	for _, fd := range fds {
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			fdpass.CloseAll(dups)
			return nil, err
		}
		dups = append(dups, dup)
	}
	return dups, nil
}

// acknowledge forgets a program whose end the daemon has noted.
func (in *Init) acknowledge(id string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	e := in.execs[id]
	if e == nil || e.status == nil || e.run != nil { // a terminal is forgotten, not acknowledged
		return
	}
	e.release()
	delete(in.execs, id)
}

func (in *Init) endStdin(id string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if e := in.execs[id]; e != nil {
		e.closeStdin()
	}
}

// signal reaches a program by its exec, or any process by its pid. The table is
// read under the reaper's lock, so a pid in it has not been given away yet.
func (in *Init) signal(m initproto.Message) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	pid := m.PID
	if m.Exec != "" {
		e := in.execs[m.Exec]
		if e == nil || e.status != nil {
			return fail("signal", m.Exec, unix.ESRCH)
		}
		// The program leads its own process group: what a terminal would
		// signal with Ctrl+C is the group.
		pid = -e.pid
	}
	if pid == 0 || pid == 1 || pid == -1 {
		return fail("signal", "", unix.EPERM)
	}
	return fail("signal", "", unix.Kill(pid, unix.Signal(m.Signal)))
}

// kill ends a program with everything it started.
func (in *Init) kill(id string) {
	in.mu.Lock()
	e := in.execs[id]
	in.mu.Unlock()
	if e != nil {
		killTree(e.tag)
	}
}
