package pid1

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// Init is PID 1 once the sandbox stands. mu is held while a program is started
// and entered into the table, and while the dead are collected: so the reaper
// finds every program it collects.
type Init struct {
	groups  bool         // setgroups is allowed
	oneID   bool         // a change of identity would be answered, not made
	without []string     // fences the tests took away
	tag     string       // of the next program; belongs to the fenced thread
	null    int          // what programs without input read
	kept    int          // descriptor for the next daemon, -1: none
	watched []*execution // running programs; belongs to the fenced thread
	stub    *os.File     // what spares are started from; belongs to the fenced thread

	mu    sync.Mutex
	execs map[string]*execution
	pids  map[int]*execution
	conn  *initproto.Conn // the present daemon, nil when there is none

	terminals    map[int]*terminal
	nextTerminal int   // the first number there never was
	pump         *pump // nil until there is a terminal

	children sync.Cond // signalled when a program was started or none is left
	count    int       // what children waits for: 0 means no process but us
	ending   bool      // everything is being ended: no spare must come up
}

// execution is one program started by the daemon, held until it is acknowledged.
type execution struct {
	id     string
	pid    int
	pidfd  int    // readable when it has ended; belongs to the fenced thread
	tag    string // its cgroup namespace, inherited by everything it starts
	note   string
	stdin  int   // write end of its stdin, -1 when closed or never there
	output []int // read ends of stdout and stderr
	status *initproto.Status
	run    *run // its hold on a terminal, nil for a program with pipes
	spare  bool // not known to be used; see spare.go
	noted  int  // a spare's note comes here
}

func newInit(s initproto.Setup) (*Init, error) {
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fail("open", "/dev/null", err)
	}
	in := &Init{null: null, groups: s.Groups, oneID: s.OneID, without: s.Without, execs: map[string]*execution{}, pids: map[int]*execution{}, terminals: map[int]*terminal{}}
	in.children.L = &in.mu
	return in, nil
}

// wire describes an execution to a daemon.
func (e *execution) wire() initproto.Exec {
	return initproto.Exec{ID: e.id, PID: e.pid, Note: e.note, Stdin: e.stdin >= 0, Status: e.status}
}

// release lets go of the descriptors kept for the next daemon.
func (e *execution) release() {
	e.closeStdin()
	fdpass.CloseAll(e.output)
	e.output = nil
	e.settle()
}

func (e *execution) closeStdin() {
	if e.stdin >= 0 {
		unix.Close(e.stdin)
	}
	e.stdin = -1
}
