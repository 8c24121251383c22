package pid1

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/fence"
	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// serve answers one daemon after the other, for ever. A new connection on
// init.sock takes the place of the present one: the daemon that dials is the
// one that holds the lock. The same thread watches the programs it started, so
// that their end needs no hand-over either; the reaper is there for orphans.
func (in *Init) serve(conn *initproto.Conn) {
	in.setConn(conn)
	go in.reap()
	for {
		fds := in.pollSet(conn)
		if _, err := unix.Poll(fds, -1); err != nil {
			continue
		}
		if slices.ContainsFunc(fds[fixed:], func(p unix.PollFd) bool { return p.Revents != 0 }) {
			in.noticeEnds(fds[fixed:])
		}
		if fds[1].Revents != 0 && !in.receive(conn) {
			in.drop(conn)
			conn = nil
		}
		if fds[0].Revents != 0 {
			conn = in.accept(conn)
		}
	}
}

// fixed is how many descriptors come before those of programs in the poll set.
const fixed = 2

// pollSet is what serve waits for: a daemon that dials, the daemon that is there
// (-1 is passed over), and the ends of programs.
func (in *Init) pollSet(conn *initproto.Conn) []unix.PollFd {
	present := int32(-1)
	if conn != nil {
		present = int32(conn.Socket.(fdpass.Socket).FD)
	}
	fds := []unix.PollFd{{Fd: ListenFD, Events: unix.POLLIN}, {Fd: present, Events: unix.POLLIN}}
	for _, e := range in.watched {
		fds = append(fds, unix.PollFd{Fd: int32(e.pidfd), Events: unix.POLLIN})
	}
	return fds
}

// noticeEnds collects the programs whose pidfds say they have ended, unless the
// reaper was faster, and stops watching them.
func (in *Init) noticeEnds(fds []unix.PollFd) {
	in.mu.Lock()
	in.collect()
	in.mu.Unlock()
	kept := in.watched[:0]
	for i, e := range in.watched {
		if fds[i].Revents != 0 {
			unix.Close(e.pidfd)
			continue
		}
		kept = append(kept, e)
	}
	clear(in.watched[len(kept):])
	in.watched = kept
}

func (in *Init) setConn(c *initproto.Conn) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.conn = c
}

func (in *Init) drop(c *initproto.Conn) {
	in.setConn(nil)
	fd := c.Socket.(fdpass.Socket).FD
	_ = c.Close(func() { _ = unix.Shutdown(fd, unix.SHUT_RDWR) }) // the other end is gone
}

// accept takes a new daemon. Whoever is visible in our pid namespace is a
// program of the sandbox and is turned away: no daemon lives in here.
func (in *Init) accept(old *initproto.Conn) *initproto.Conn {
	fd, _, err := unix.Accept4(ListenFD, unix.SOCK_CLOEXEC)
	if err != nil {
		return old
	}
	if pid, _, err := fdpass.Peer(fd); err != nil || (pid != 0 && !fence.Gone(in.without, fence.PeerPID)) {
		unix.Close(fd)
		return old
	}
	if old != nil {
		in.drop(old)
	}
	conn := &initproto.Conn{Socket: fdpass.Socket{FD: fd}, Max: initproto.MaxToInit}
	in.setConn(conn)
	return conn
}

// receive reads one request and sees to it that it is answered. It reports
// whether the connection is still good.
func (in *Init) receive(conn *initproto.Conn) bool {
	m, fds, err := conn.Read()
	if err != nil {
		return false
	}
	if m.Op == initproto.OpSpawn {
		in.spawn(conn, m, fds)
		return true
	}
	if m.Op == initproto.OpTerminal {
		fdpass.CloseAll(fds)
		in.spawnOnTerminal(conn, m)
		return true
	}
	if m.Op == initproto.OpSpare {
		in.spare(conn, m, fds)
		return true
	}
	if m.Op == initproto.OpUsed {
		fdpass.CloseAll(fds)
		in.settle(m.Exec)
		return true
	}
	if m.Op == initproto.OpAck {
		fdpass.CloseAll(fds)
		in.acknowledge(m.Exec)
		if in.tag == "" {
			// A good moment to get ready for the next start; if it fails, that
			// one tries again and answers for it.
			_ = in.retag()
		}
		return true
	}
	go in.answer(conn, m, fds) // a slow answer must not hold up the next request
	return true
}

// spawn starts a program from this thread, which is the fenced one.
func (in *Init) spawn(conn *initproto.Conn, m initproto.Message, fds []int) {
	reply := initproto.Message{ID: m.ID, Op: m.Op}
	pid, err := 0, error(initproto.ErrProtocol)
	half := 2
	if m.Spawn != nil && m.Spawn.Stdin {
		half = 3
	}
	if m.Spawn != nil && len(fds) == 2*half && len(m.Spawn.Argv) > 0 {
		pid, err = in.start(*m.Spawn, fds[:half], fds[half:])
	}
	if err != nil {
		fdpass.CloseAll(fds)
		reply.Error = wire(err)
	} else {
		fdpass.CloseAll(fds[:half])
		reply.PID = pid
	}
	_ = conn.Write(reply) // a daemon that is gone needs no answer
}

// answer carries out every other request.
func (in *Init) answer(conn *initproto.Conn, m initproto.Message, fds []int) {
	reply := initproto.Message{ID: m.ID, Op: m.Op}
	var send []int
	var err error
	switch {
	case m.Op == initproto.OpHello:
		reply.Hello = in.hello()
	case m.Op == initproto.OpAdopt:
		send, err = in.adopt(m.Exec)
		defer fdpass.CloseAll(send)
	case m.Op == initproto.OpAdoptTerm && m.Terminal != nil:
		send, err = in.adoptTerminal(m.Terminal.Number)
		defer func() { fdpass.CloseAll(send) }()
	case m.Op == initproto.OpForget && m.Terminal != nil:
		err = in.forgetTerminal(m.Terminal.Number)
	case m.Op == initproto.OpSignal:
		err = in.signal(m)
	case m.Op == initproto.OpCloseStdin:
		in.endStdin(m.Exec)
	case m.Op == initproto.OpKill:
		in.kill(m.Exec)
	case m.Op == initproto.OpOpen && m.Open != nil:
		var fd int
		if fd, err = in.open(*m.Open); err == nil {
			send = []int{fd}
			defer unix.Close(fd)
		}
	case m.Op == initproto.OpAttach && m.Attach != nil && len(fds) == 1:
		err = in.attachMount(*m.Attach, fds[0])
	case m.Op == initproto.OpProcesses:
		reply.Processes = in.processes()
	case m.Op == initproto.OpTerminate && m.Terminate != nil:
		in.terminate(time.Duration(m.Terminate.GraceMs) * time.Millisecond)
	default:
		err = initproto.ErrProtocol
	}
	fdpass.CloseAll(fds)
	if err != nil {
		reply.Error = wire(err)
	}
	if m.ID != 0 {
		_ = conn.Write(reply, send...) // a daemon that is gone needs no answer
	}
}
