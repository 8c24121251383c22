package terminal

import (
	"context"
	"errors"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/terminal/store"
)

// state is what a terminal knows of itself, guarded by Terminal.mu.
type state struct {
	command  string
	pid      int
	running  bool
	restarts int
	exit     *Status // of the program that ended last
	over     bool    // the clients know of that, and of nothing after it
	failed   string
	degraded string
	unsaved  int // bytes that wait for room on the disk
	title    string
	cols     int
	rows     int
	closed   bool
	fresh    bool // no program has run since the screen was new

	program int           // counts the programs
	drained chan struct{} // closed when all output of this one was read
	again   chan struct{} // holds a token after another program was started
}

// reached notes that all output of a program was read. It reports false when
// that is not the present one.
func (s *state) reached(program int) bool {
	if program != s.program {
		return false
	}
	select {
	case <-s.drained:
	default:
		close(s.drained)
	}
	return true
}

// Started says that a program runs on the terminal now. What an earlier one
// left on the screen and in the clients' terminals is cleared away: modes of a
// program that died must not meet the next one.
func (t *Terminal) Started(command string, pid int) {
	t.storing.Lock()
	defer t.storing.Unlock()
	t.mu.Lock()
	closed, fresh := t.state.closed, t.state.fresh
	reset := item{event: store.Event{Kind: store.Reset, Cols: t.state.cols, Rows: t.state.rows}}
	t.state.fresh = false
	t.mu.Unlock()
	if closed {
		return
	}
	if !fresh {
		t.save(reset)
		t.publish(reset)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.state
	if !fresh {
		s.restarts++
	}
	s.command, s.pid, s.running, s.failed, s.over = command, pid, true, "", false
	s.program++
	s.drained = make(chan struct{})
	wake(s.again)
	t.tell(api.Control{Type: "started", Terminal: new(t.info())})
}

// Drain returns when everything the ended program wrote has been stored and
// handed to the clients' queues. It is called after the program has ended.
func (t *Terminal) Drain(ctx context.Context) error {
	t.mu.Lock()
	drained := t.state.drained
	t.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-t.closing:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Exited drains, then tells the clients how the program ended. They are told
// even if ctx ended the draining.
func (t *Terminal) Exited(ctx context.Context, s Status) error {
	err := t.Drain(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.running, t.state.pid, t.state.exit, t.state.over = false, 0, &s, true
	t.tell(controlExit(s))
	return err
}

// Restarting tells the clients that a program will be started after delay.
func (t *Terminal) Restarting(delay time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.over, t.state.running, t.state.pid = false, false, 0
	t.tell(api.Control{Type: "restarting", DelayMs: delay.Milliseconds()})
}

// Failed tells the clients that none will be, and why.
func (t *Terminal) Failed(reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.failed, t.state.over, t.state.running, t.state.pid = reason, false, false, 0
	t.tell(api.Control{Type: "failed", Reason: reason})
}

// Close detaches the clients, with reason, and lets go of the Pty and the log.
// Clients that were told of an exit last are told nothing more. It may be
// called twice.
func (t *Terminal) Close(reason string) error {
	if !t.shut() {
		t.work.Wait()
		return nil
	}
	err := t.cfg.Pty.Close()
	t.work.Wait()
	t.dismiss(reason)

	t.storing.Lock()
	defer t.storing.Unlock()
	if t.retry != nil {
		t.retry.Stop() // one that fired meanwhile sees that we are closing
	}
	return errors.Join(err, t.closeStore())
}

// closeStore closes the log when nobody reads it any more. The caller holds
// storing.
func (t *Terminal) closeStore() error {
	if t.readers > 0 {
		return nil
	}
	return t.store.Close()
}

// shut says that nothing is published any more, but by the reader until it
// ends. It reports false when that was said before.
func (t *Terminal) shut() bool {
	t.storing.Lock()
	defer t.storing.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.closed {
		return false
	}
	t.state.closed = true
	close(t.closing)
	return true
}

// dismiss ends the streams of all clients, after what is in their queues.
func (t *Terminal) dismiss(reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.state.over {
		t.tell(api.Control{Type: "detached", Reason: reason})
	}
	for c := range t.clients {
		c.ended = true
		wake(c.wake)
	}
	for w := range t.watchers {
		close(w)
		delete(t.watchers, w)
	}
}

// Info is the terminal as the API shows it.
func (t *Terminal) Info() api.Terminal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.info()
}

func (t *Terminal) info() api.Terminal {
	s := &t.state
	info := api.Terminal{
		Number: t.cfg.Number, Role: t.cfg.Role, Command: s.command, PID: s.pid, Cols: s.cols, Rows: s.rows,
		Clients: len(t.clients), Running: s.running, Title: s.title, Restarts: s.restarts, Failed: s.failed, Degraded: s.degraded,
	}
	if s.exit != nil {
		info.ExitCode, info.Signal = new(s.exit.Code), s.exit.Signal
	}
	return info
}
