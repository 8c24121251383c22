package pid1

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
)

// reap collects every child that ends, our own programs and orphans alike. It
// waits without collecting, then takes the lock and collects: a program that
// ends while it is being started is in the table before its status is looked up.
func (in *Init) reap() {
	for {
		_ = unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil) // ECHILD is asked again below
		in.mu.Lock()
		in.awaitChild()
		in.collect()
		in.mu.Unlock()
	}
}

// awaitChild waits until there is a child, if there is none: then nothing else
// lives in this pid namespace. It asks under the lock, where nobody is started.
func (in *Init) awaitChild() {
	for unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil) == unix.ECHILD {
		in.count = 0
		in.children.Broadcast()
		in.children.Wait()
	}
}

// collect notes how children ended and then frees them, in this order: freeing
// takes the kernel longer than everything before it, and somebody waits for the
// answer.
func (in *Init) collect() {
	for {
		pid, ws, ok := peek()
		if !ok {
			return
		}
		if ws.Exited() || ws.Signaled() { // not the stop of one that made us its tracer
			in.ended(pid, ws)
		}
		var gone unix.WaitStatus
		_, _ = unix.Wait4(pid, &gone, unix.WNOHANG|unix.WALL, nil) // it was there a moment ago, and we hold the lock
	}
}

// siginfo is the kernel's siginfo_t for SIGCHLD on 64-bit machines.
type siginfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// peek looks at a child that has ended, without freeing it. The call is a raw
// one: it does not block, and to give up Go's one processor for it would mean to
// queue for it behind the reaper.
func peek() (pid int, ws unix.WaitStatus, ok bool) {
	var info siginfo
	for {
		_, _, errno := unix.RawSyscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)),
			unix.WEXITED|unix.WNOWAIT|unix.WNOHANG|unix.WALL, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || info.pid == 0 {
			return 0, 0, false
		}
		return int(info.pid), info.wait(), true
	}
}

// wait is the same as wait4(2) would give it.
func (i *siginfo) wait() unix.WaitStatus {
	switch i.code {
	case cldExited:
		return unix.WaitStatus(i.status&0xff) << 8
	case cldKilled, cldDumped:
		return unix.WaitStatus(i.status & 0x7f)
	}
	return stopped
}

// Codes of a SIGCHLD; see sigaction(2).
const (
	cldExited = 1
	cldKilled = 2
	cldDumped = 3

	stopped = 0x7f // in a wait status: it has not ended
)

// ended notes the status of a program and tells the daemon. It is called with
// the lock held.
func (in *Init) ended(pid int, ws unix.WaitStatus) {
	e := in.pids[pid]
	if e == nil {
		return // an orphan: reaping it was all it needed
	}
	delete(in.pids, pid)
	e.status = &initproto.Status{Code: ws.ExitStatus()}
	if ws.Signaled() {
		e.status = &initproto.Status{Code: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
	}
	if e.run != nil {
		e.run.leave() // reported when what it wrote is in the ring
		return
	}
	in.report(e)
	if !e.used() { // a spare: nobody waits for its status
		e.release()
		delete(in.execs, e.id)
	}
}

// report tells the present daemon of an end. If there is none, or it is going
// away, the next one learns it from hello.
func (in *Init) report(e *execution) {
	if in.conn == nil {
		return
	}
	m := initproto.Message{Op: initproto.OpExited, Exec: e.id, Status: e.status}
	_ = in.conn.Write(m) // the status is kept until it is acknowledged
}
