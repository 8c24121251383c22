package pid1

import (
	"path"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/pty"
	"github.com/coop-dev/coop/internal/linux/ring"
)

// Terminals outlive daemons: the master and the ring that holds what was not
// stored yet are ours, and the daemon only has duplicates. What each of the
// threads does with a terminal:
//
//	fenced thread   opens the PTY, starts the program, hands the master to the pump
//	pump            moves output from masters into rings, finds the end of it
//	reaper          tells the pump that a program has ended
//	others          duplicate descriptors for a daemon, forget

// multiplexer makes new terminals. It is in the devpts mount, which nobody
// inside can replace; the link /dev/ptmx could be.
const multiplexer = "/dev/pts/ptmx"

// terminal is one PTY after another with one continuous output.
type terminal struct {
	number  int
	ring    *ring.Writer
	program *execution          // runs on it, or ran last
	run     atomic.Pointer[run] // nil when nothing is on it; taken away under the lock
	gone    bool                // forgotten
}

// run is a program's time on a terminal.
type run struct {
	terminal *terminal
	master   int // closed by the pump, under the lock
	exec     *execution
	since    time.Time
	left     atomic.Bool // the program has ended
	drained  int         // bytes read since then; belongs to the pump
}

// leave says that the program has ended.
func (r *run) leave() {
	r.left.Store(true)
	r.terminal.ring.Poke()
}

// wireTerminals describes all terminals. It is called with the lock held.
func (in *Init) wireTerminals() []initproto.Terminal {
	var list []initproto.Terminal
	for _, t := range in.terminals {
		w := initproto.Terminal{Number: t.number, Exec: t.program.id, PID: t.program.pid, Note: t.program.note}
		if t.run.Load() == nil {
			w.Status = t.program.status
		}
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b initproto.Terminal) int { return a.Number - b.Number })
	return list
}

// spawnOnTerminal starts a program on a terminal and answers with its pid, the
// ring and the master.
func (in *Init) spawnOnTerminal(conn *initproto.Conn, m initproto.Message) {
	reply := initproto.Message{ID: m.ID, Op: m.Op}
	var fds []int
	pid, err := 0, error(initproto.ErrProtocol)
	if m.Terminal != nil && m.Spawn != nil && len(m.Spawn.Argv) > 0 {
		pid, fds, err = in.startOn(*m.Terminal, *m.Spawn)
	}
	reply.PID = pid
	if err != nil {
		reply.Error = wire(err)
	}
	_ = conn.Write(reply, fds...) // a daemon that is gone needs no answer
	fdpass.CloseAll(fds)
}

// startOn opens a fresh PTY for a terminal, making the terminal if it is new, and
// starts the program on it. The descriptors are duplicates for the daemon.
func (in *Init) startOn(req initproto.Terminal, s initproto.Spawn) (pid int, fds []int, err error) {
	cred, file, env, err := in.resolveProgram(&s)
	if err != nil {
		return 0, nil, err
	}
	t, err := in.terminalFor(req.Number)
	if err != nil {
		return 0, nil, err
	}
	r, slave, err := openRun(t, req, cred)
	if err == nil {
		err = in.pump.add(t, r.master)
	}
	if err == nil {
		fds, err = duplicate(append(slices.Clone(t.ring.Descriptors()), r.master))
	}
	if err == nil {
		pid, err = in.startRun(r, slave, cred, file, env, s)
	}
	if r != nil {
		unix.Close(slave)
	}
	if err != nil {
		fdpass.CloseAll(fds)
		in.discard(t, r)
		return 0, nil, err
	}
	return pid, fds, nil
}

// resolveProgram finds what a request names, as start does for plain execs.
func (in *Init) resolveProgram(s *initproto.Spawn) (cred *syscall.Credential, file string, env []string, err error) {
	cred, home, name, err := resolveUser(s.User)
	if err != nil {
		return nil, "", nil, err
	}
	if err := in.mapped(cred); err != nil {
		return nil, "", nil, err
	}
	env = initproto.WithHome(s.Env, home, name)
	if err := in.enterDir(s.Dir); err != nil {
		return nil, "", nil, err
	}
	if s.Login {
		if shell := loginShell(cred.Uid); shell != "" {
			s.Argv = []string{"-" + path.Base(shell)} // the dash makes it a login shell
			return cred, shell, append(env, "SHELL="+shell), nil
		}
	}
	file, err = lookPath(s.Argv[0], s.Dir, env)
	return cred, file, env, err
}

// terminalFor finds a terminal that is free for a program, or makes one.
func (in *Init) terminalFor(number int) (*terminal, error) {
	if err := in.startPump(); err != nil {
		return nil, err
	}
	in.mu.Lock()
	t := in.terminals[number]
	in.mu.Unlock()
	if t != nil {
		if t.run.Load() != nil {
			return nil, fail("terminal", "", unix.EBUSY)
		}
		return t, nil
	}
	w, err := ring.New("terminal")
	if err != nil {
		return nil, fail("ring", "", err)
	}
	return &terminal{number: number, ring: w}, nil
}

// openRun opens the PTY: right size and owner before anybody is on it.
func openRun(t *terminal, req initproto.Terminal, cred *syscall.Credential) (*run, int, error) {
	master, slave, err := pty.Open(multiplexer)
	if err != nil {
		return nil, -1, fail("open terminal", multiplexer, err)
	}
	r := &run{terminal: t, master: master, since: time.Now()}
	if err = pty.Give(slave, cred.Uid, cred.Gid); err == nil && req.Cols > 0 && req.Rows > 0 {
		err = pty.SetSize(master, req.Cols, req.Rows)
	}
	return r, slave, fail("open terminal", multiplexer, err)
}

// startRun forks the program: a session of its own with the terminal as its
// controlling one and all three descriptors, behind the fences of every other
// program. Then the pump gets the master.
func (in *Init) startRun(r *run, slave int, cred *syscall.Credential, file string, env []string, s initproto.Spawn) (int, error) {
	fd := uintptr(slave)
	attr := &syscall.ProcAttr{
		Env: env, Files: []uintptr{fd, fd, fd},
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true, Credential: in.credential(cred)},
	}
	r.exec = &execution{id: s.Exec, note: s.Note, stdin: -1, run: r}
	pid, err := in.fork(r.exec, file, s.Argv, attr)
	if err != nil {
		return 0, err
	}
	in.enter(r)
	return pid, nil
}

// enter notes what runs on a terminal. A daemon that says hello before that does
// not learn of the program; but its predecessor's request is answered by the
// same thread that lets a new daemon in, so none can.
func (in *Init) enter(r *run) {
	t := r.terminal
	in.mu.Lock()
	defer in.mu.Unlock()
	if t.program != nil {
		delete(in.execs, t.program.id)
	}
	t.program = r.exec
	t.run.Store(r)
	in.terminals[t.number] = t
	in.nextTerminal = max(in.nextTerminal, t.number+1)
	t.ring.Poke() // what the program has said already
}

// discard undoes what was prepared for a program that did not start.
func (in *Init) discard(t *terminal, r *run) {
	if r != nil {
		in.pump.drop(r.master)
		unix.Close(r.master)
	}
	if t.program != nil { // it was there before
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.retire(t)
}

// retire ends a terminal's existence. It is called with the lock held, which the
// pump takes before it touches the ring of a terminal without a program.
func (in *Init) retire(t *terminal) {
	t.gone = true
	in.pump.remove(t)
	t.ring.Close()
}

// adoptTerminal gives a new daemon the ring of a terminal, and the master if a
// program is on it. They are duplicates, as in adopt.
func (in *Init) adoptTerminal(number int) ([]int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	t := in.terminals[number]
	if t == nil {
		return nil, fail("adopt terminal", "", unix.ESRCH)
	}
	fds := slices.Clone(t.ring.Descriptors())
	if r := t.run.Load(); r != nil {
		fds = append(fds, r.master)
	}
	dups, err := duplicate(fds)
	return dups, fail("adopt terminal", "", err)
}

// forgetTerminal lets go of a terminal whose program has ended.
func (in *Init) forgetTerminal(number int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	t := in.terminals[number]
	if t == nil {
		return nil // forgetting twice is forgetting
	}
	if t.run.Load() != nil {
		return fail("forget terminal", "", unix.EBUSY)
	}
	delete(in.terminals, number)
	delete(in.execs, t.program.id)
	in.retire(t)
	return nil
}

// finish is called by the pump when a program has ended and all it wrote is in
// the ring. Whatever else still holds the terminal is hung up.
func (in *Init) finish(r *run) {
	in.mu.Lock()
	defer in.mu.Unlock()
	t := r.terminal
	in.pump.drop(r.master)
	unix.Close(r.master)
	t.run.Store(nil)
	r.exec.status.End = t.ring.Head()
	r.exec.status.RanMs = time.Since(r.since).Milliseconds()
	t.ring.Rest()
	in.report(r.exec)
}
