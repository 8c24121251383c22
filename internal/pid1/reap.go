package pid1

import (
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

func (in *Init) collect() {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG|unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ws.Exited() || ws.Signaled() { // not the stop of one that made us its tracer
			in.ended(pid, ws)
		}
	}
}

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
