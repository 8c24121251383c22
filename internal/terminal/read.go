package terminal

import (
	"errors"
	"io"
	"time"
)

const (
	smallRead = 4 << 10   // what an idle terminal holds
	largeRead = 256 << 10 // once more than that comes at a time

	maxBehind  = 512 << 10 // output that the screen may be behind
	maxUnsaved = 4 << 20   // more than PID 1 keeps, so a guard only
)

// read moves output from the Pty to the log, to the screen and to the clients,
// until Close.
func (t *Terminal) read() {
	if !t.mayBegin() {
		return
	}
	buf := make([]byte, smallRead)
	for off := t.stored; ; {
		program := t.program()
		n, err := t.cfg.Pty.ReadAt(buf, off)
		if n > 0 {
			off += uint64(n)
			var chunk []byte
			chunk, buf = cut(buf, n)
			if !t.waitForRoom(len(chunk)) {
				return
			}
			t.take(item{data: chunk})
			continue
		}
		if !t.pause(err, program) {
			return
		}
	}
}

// mayBegin waits for the first program, and for the first client where it is
// held. It reports false after Close.
func (t *Terminal) mayBegin() bool {
	for _, c := range []<-chan struct{}{t.first(), t.held} {
		select {
		case <-c:
		case <-t.closing:
			return false
		}
	}
	return true
}

// first is when a program was started, unless one runs already.
func (t *Terminal) first() <-chan struct{} {
	if t.cfg.PID == 0 {
		return t.state.again
	}
	done := make(chan struct{})
	close(done)
	return done
}

// cut takes what was read out of the buffer without copying much: small pieces
// are copied, a large one keeps the buffer and another one is made.
func cut(buf []byte, n int) (chunk, next []byte) {
	switch {
	case n == len(buf):
		return buf, make([]byte, largeRead)
	case n >= largeRead/4:
		return buf[:n:n], make([]byte, largeRead)
	case n <= smallRead/4 && len(buf) > smallRead:
		return append([]byte(nil), buf[:n]...), make([]byte, smallRead)
	}
	return append([]byte(nil), buf[:n]...), buf
}

// pause waits after the end of a program's output for the next program. It
// reports false when there is nothing more to read.
func (t *Terminal) pause(err error, program int) bool {
	if err != nil && !errors.Is(err, io.EOF) {
		t.mu.Lock()
		over := t.state.closed
		t.state.reached(program)
		t.mu.Unlock()
		if !over {
			t.log.Error("terminal cannot be read", "err", err)
			t.Failed("its output cannot be read: " + err.Error())
		}
		return false
	}
	if err == nil {
		return true
	}
	t.mu.Lock()
	waits := t.state.reached(program)
	t.mu.Unlock()
	if !waits {
		return true // another program was started meanwhile
	}
	select {
	case <-t.state.again:
		return true
	case <-t.closing:
		return false
	}
}

// program numbers the program whose output is read.
func (t *Terminal) program() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.program
}

// take stores output and hands it on.
func (t *Terminal) take(it item) {
	t.storing.Lock()
	defer t.storing.Unlock()
	t.save(it)
	t.publish(it)
	if t.cfg.Activity != nil {
		t.cfg.Activity()
	}
}

// waitForRoom makes the reader, and through it the program, wait while the
// screen is too far behind. It reports false after Close.
func (t *Terminal) waitForRoom(n int) bool {
	for {
		wait, until := t.mustWait(n)
		if !wait {
			return true
		}
		if !t.sleep(until) {
			return false
		}
	}
}

// sleep waits for room, until then at most unless that is zero.
func (t *Terminal) sleep(until time.Time) bool {
	var late <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-t.room:
	case <-late:
	case <-t.closing:
		return false
	}
	return true
}

// mustWait reports whether there is no room for n bytes and, if that is only
// for a client's sake, how long to wait at most.
func (t *Terminal) mustWait(n int) (bool, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.behind > maxBehind || t.state.unsaved > maxUnsaved {
		return true, time.Time{}
	}
	for c := range t.clients {
		if !c.lagging && c.bytes > 0 && c.bytes+n > maxQueue {
			until := t.mercy.until(time.Now())
			return !until.IsZero(), until
		}
	}
	t.mercy.rest(time.Now())
	return false, time.Time{}
}

// mercy is how long, in all, the program is kept waiting for clients that have
// nearly kept up: they lose the processor for some milliseconds now and then,
// and a fresh screen in their stead would be the dearer way. A client that is
// really slow gets none of it but the first twentieth of a second in each five.
type mercy struct {
	window time.Time // since when it is counted
	used   time.Duration
	since  time.Time // a wait is under way
}

const (
	mercyWindow = 5 * time.Second
	mercyTime   = 50 * time.Millisecond
)

// until begins or goes on with a wait; zero: there is no time left.
func (m *mercy) until(now time.Time) time.Time {
	m.rest(now)
	if now.Sub(m.window) > mercyWindow {
		m.window, m.used = now, 0
	}
	if m.used >= mercyTime {
		return time.Time{}
	}
	m.since = now
	return now.Add(mercyTime - m.used)
}

// rest ends a wait.
func (m *mercy) rest(now time.Time) {
	if !m.since.IsZero() {
		m.used += now.Sub(m.since)
		m.since = time.Time{}
	}
}
