package pid1

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/memfd"
	"github.com/coop-dev/coop/internal/linux/stub"
)

// A spare is a process started before it is known what for: a stub, with the
// fences, the mark and the pipes of a program, that becomes one when the daemon
// tells it on a socket of its own. It is in the table from its birth, under the
// id of the exec it may become, so that nothing has to be said here at that
// moment: its end, a signal, a kill find it as they find any program.
//
// What PID 1 cannot see is whether it was used, and with which note. The daemon
// writes the note into a pipe before it tells the stub, and PID 1 looks into the
// pipe when it matters: so a daemon killed at any moment leaves either a spare
// that was never used and ends by itself, or an exec like any other.

// maxNote is what a pipe takes at once, whole or not at all.
const maxNote = 4096

// spare starts a stub from this thread, which is the fenced one. With the request
// come the stub's channel, report, stdout and stderr, our end of the note, and
// the read ends of stdout and stderr, which we keep.
func (in *Init) spare(conn *initproto.Conn, m initproto.Message, fds []int) {
	reply := initproto.Message{ID: m.ID, Op: m.Op}
	pid, err := 0, error(initproto.ErrProtocol)
	if len(fds) == 7 && m.Exec != "" {
		pid, err = in.startSpare(m.Exec, fds[:4], fds[4], fds[5:])
	}
	if err != nil {
		fdpass.CloseAll(fds)
		reply.Error = wire(err)
	} else {
		fdpass.CloseAll(fds[:4])
		reply.PID = pid
	}
	_ = conn.Write(reply) // a daemon that is gone needs no answer
}

func (in *Init) startSpare(id string, own []int, note int, kept []int) (int, error) {
	if in.stub == nil {
		f, err := memfd.Program(stub.Name, stub.Image())
		if err != nil {
			return 0, fail("spare", "", err)
		}
		in.stub = f
	}
	if err := unix.SetNonblock(note, true); err != nil {
		return 0, fail("spare", "", err)
	}
	attr := &syscall.ProcAttr{
		Sys:   &syscall.SysProcAttr{Setpgid: true},
		Files: []uintptr{uintptr(in.null), uintptr(own[2]), uintptr(own[3]), stub.Channel: uintptr(own[0]), stub.Report: uintptr(own[1])},
	}
	e := &execution{id: id, stdin: -1, output: kept, spare: true, noted: note}
	return in.fork(e, "/proc/self/fd/"+strconv.Itoa(int(in.stub.Fd())), []string{stub.Name}, attr)
}

// used reports whether an execution is one: true for all but a spare that has no
// note yet. It is called with the lock held.
func (e *execution) used() bool {
	if !e.spare {
		return true
	}
	var b [maxNote]byte
	n, err := unix.Read(e.noted, b[:])
	if err != nil || n <= 0 {
		return false
	}
	e.note = string(b[:n])
	e.settle()
	return true
}

// settle looks for the note of a spare that was used.
func (in *Init) settle(id string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if e := in.execs[id]; e != nil {
		e.used()
	}
}

// settle makes a spare an execution like any other.
func (e *execution) settle() {
	if e.spare {
		unix.Close(e.noted)
	}
	e.spare = false
}
