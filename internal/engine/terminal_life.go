package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/launch"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
)

// The life of a program on a terminal. PID 1 keeps its end until the terminal
// gets another program or is forgotten, so a daemon that dies at any point here
// leaves its successor at the same point.
//
//	role   ends                      becomes
//	agent  by itself                 restarting, then running with the next program
//	agent  too soon, three times     failed until it is restarted by request
//	agent  killed by request         failed until it is restarted by request
//	any    restarted by request      running with the next program
//	shell  by itself or killed       gone, when a client has seen the end or lingerTime is over
//	exec   by itself or killed       gone likewise; OnExit decides about the sandbox first
const (
	guardTime  = 5 * time.Second // an agent that ends sooner counts as crashed
	guardCount = 3               // crashes in a row before it is given up

	lingerTime = time.Minute // how long an end waits for a client that comes back
	keptLogs   = 16          // logs of terminals that are gone
)

// order asks the goroutine that watches a terminal for something.
type order struct {
	next *terminal.Request // what to run next, nil: nothing
	done chan error
}

// watchSeat looks after a terminal until it is gone or the daemon lets go of it.
func (e *Engine) watchSeat(ts *terminals, s *seat) {
	for {
		status, o, err := e.awaitEnd(s)
		if err != nil {
			return // let go of, or PID 1 is gone
		}
		if o != nil {
			o.done <- e.obey(ts, s, *o)
			continue
		}
		if s.noted().Request.Role != terminal.RoleAgent {
			e.retire(ts, s, status)
			return
		}
		e.agentEnded(ts, s, status)
	}
}

// awaitEnd waits for the end of the program, its time limit, or an order.
func (e *Engine) awaitEnd(s *seat) (terminal.Status, *order, error) {
	n := s.noted()
	p := s.pty.Program()
	if s.isOver() { // nothing runs: only an order can change that
		select {
		case o := <-s.orders:
			return terminal.Status{}, &o, nil
		case <-s.over.Done():
			return terminal.Status{}, nil, context.Cause(s.over)
		}
	}
	var limit <-chan time.Time
	if n.Request.Timeout > 0 {
		t := time.NewTimer(time.Until(n.At.Add(n.Request.Timeout)))
		defer t.Stop()
		limit = t.C
	}
	timedOut := false
	select {
	case <-p.Done():
	case <-limit:
		timedOut = true
		e.killProgram(s, p)
	case o := <-s.orders:
		return terminal.Status{}, &o, nil
	case <-s.over.Done():
		return terminal.Status{}, nil, context.Cause(s.over)
	}
	end, err := p.Wait(s.over)
	if err != nil {
		return terminal.Status{}, nil, err
	}
	return statusOf(end, timedOut), nil, nil
}

func statusOf(end initproto.Status, timedOut bool) terminal.Status {
	s := terminal.Status{Code: end.Code, Duration: time.Duration(end.RanMs) * time.Millisecond, TimedOut: timedOut}
	if end.Signal != 0 {
		s.Signal = signalName(end.Signal)
	}
	if timedOut {
		s.Code = 124
	}
	return s
}

// killProgram ends a program's whole tree.
func (e *Engine) killProgram(s *seat, p *launch.Program) {
	if err := p.Kill(s.over); err != nil && s.over.Err() == nil && !errors.Is(err, launch.ErrLost) {
		e.Log.Warn("kill terminal", "sandbox", s.sandbox, "terminal", s.number, "err", err)
	}
}

// agentEnded decides whether terminal 0 gets its program again.
//
// Clients take an exit for the end of the terminal, so they are told of one only
// if it is.
func (e *Engine) agentEnded(ts *terminals, s *seat, status terminal.Status) {
	if err := s.hub.Drain(s.over); err != nil {
		return
	}
	l, n := ts.live.Load(), s.noted()
	quick := 0
	if status.Duration < guardTime {
		quick = n.Quick + 1
	}
	switch {
	case ts.isEnding() || !l.spec.Session.Restarts():
		s.finish()
		_ = s.hub.Exited(s.over, status) // drained already
	case e.wasKilled(s.sandbox):
		s.finish()
		s.hub.Failed(killedReason)
	case quick >= guardCount:
		s.finish()
		s.hub.Failed(fmt.Sprintf("it ended %d times within %s each, last with %s; coop restart starts it again", quick, guardTime, inWords(status)))
	default:
		e.restartLater(ts, s, l.spec.Session.Delay(), seatNote{Request: n.Request, Restarts: n.Restarts + 1, Quick: quick})
	}
}

func inWords(s terminal.Status) string {
	if s.Signal != "" {
		return s.Signal
	}
	return fmt.Sprintf("exit status %d", s.Code)
}

// finish notes that nothing will run on the terminal unless somebody asks.
func (s *seat) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// restartLater waits and starts the next program, unless an order comes first.
func (e *Engine) restartLater(ts *terminals, s *seat, delay time.Duration, n seatNote) {
	s.hub.Restarting(delay)
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
		if err := e.startNext(ts, s, n); err != nil {
			s.finish()
			s.hub.Failed(err.Error())
		}
	case o := <-s.orders:
		o.done <- e.obey(ts, s, o)
	case <-s.over.Done():
	}
}

// startNext puts another program on a terminal whose last one has ended.
func (e *Engine) startNext(ts *terminals, s *seat, n seatNote) error {
	if ts.isEnding() {
		return sandbox.Errorf(sandbox.Conflict, "the sandbox is being stopped")
	}
	n.At = time.Now().UTC()
	info := s.hub.Info()
	n.Request.Cols, n.Request.Rows = info.Cols, info.Rows
	spawn, err := terminalSpawn(ts.live.Load(), n)
	if err != nil {
		return err
	}
	if err := s.pty.Restart(s.over, launch.TerminalSize{Cols: info.Cols, Rows: info.Rows}, spawn); err != nil {
		return explainSpawn(Command{Command: shownCommand(n.Request), User: n.Request.User}, err)
	}
	s.mu.Lock()
	s.note, s.ended = n, false
	s.mu.Unlock()
	s.hub.Started(shownCommand(n.Request), s.pty.Program().PID)
	return nil
}

// obey ends what runs and starts what is wanted next.
func (e *Engine) obey(ts *terminals, s *seat, o order) error {
	p := s.pty.Program()
	if s.number == 0 {
		if err := e.noteKilled(s.sandbox, o.next == nil); err != nil {
			return err
		}
	}
	e.killProgram(s, p)
	end, err := p.Wait(s.over)
	if err != nil {
		return err
	}
	if err := s.hub.Drain(s.over); err != nil {
		return err
	}
	n := s.noted()
	if o.next == nil {
		s.finish()
		_ = s.hub.Exited(s.over, statusOf(end, false)) // drained already
		s.hub.Failed(killedReason)
		return nil
	}
	s.hub.Restarting(0)
	err = e.startNext(ts, s, seatNote{Request: *o.next, Restarts: n.Restarts + 1})
	if err != nil {
		s.finish()
		s.hub.Failed(err.Error())
	}
	return err
}

// retire ends the existence of a shell or a command.
func (e *Engine) retire(ts *terminals, s *seat, status terminal.Status) {
	if err := s.hub.Drain(s.over); err != nil {
		return
	}
	s.finish()
	close(s.retired)
	if on := OnExit(s.noted().Request.OnExit); on == Remove || on == RemoveIfUnchanged {
		if !e.concludeSeat(ts, s, on, &status) {
			return
		}
	}
	seen := s.hub.Info().Clients > 0
	if err := s.hub.Exited(s.over, status); err != nil {
		return
	}
	if !seen && !s.linger() {
		return
	}
	if ts.remove(s) {
		e.forgetTerminal(s)
		s.letGo("")
		e.pruneLogs(ts, s.sandbox)
	}
}

// concludeSeat decides what becomes of the sandbox after its command. It reports
// whether the terminal is still there; if not, its clients have been told.
func (e *Engine) concludeSeat(ts *terminals, s *seat, on OnExit, status *terminal.Status) bool {
	if !ts.remove(s) { // the sandbox is being ended already
		return false
	}
	// Out of the list it outlives its sandbox for as long as it takes to tell.
	kept, err := e.conclude(context.Background(), s.sandbox, on)
	if err != nil {
		e.Log.Error("conclude command", "sandbox", s.sandbox, "terminal", s.number, "err", err)
	}
	status.Kept = &kept
	if kept && ts.putBack(s) {
		return true
	}
	_ = s.hub.Exited(s.over, *status) // drained already
	s.letGo("")
	return false
}

// linger keeps an end that nobody has seen for a client that comes back. It
// reports false when the daemon lets go first.
func (s *seat) linger() bool {
	t := time.NewTimer(lingerTime)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.over.Done():
		return false
	}
}

// forgetTerminal tells PID 1 that the end was noted.
func (e *Engine) forgetTerminal(s *seat) {
	if err := s.pty.Forget(s.over); err != nil && s.over.Err() == nil && !errors.Is(err, launch.ErrLost) {
		e.Log.Error("forget terminal", "sandbox", s.sandbox, "terminal", s.number, "err", err)
	}
}

// pruneLogs removes the oldest logs of terminals that are gone.
func (e *Engine) pruneLogs(ts *terminals, id sandbox.ID) {
	dir := e.terminalsDir(id)
	numbers, err := terminal.Numbers(dir)
	if err != nil {
		return // the next one tries again
	}
	gone := slices.DeleteFunc(numbers, func(n int) bool { return n == 0 || ts.get(n) != nil })
	for i := 0; i < len(gone)-keptLogs; i++ {
		if err := os.RemoveAll(terminal.Dir(dir, gone[i])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.Log.Warn("remove terminal log", "sandbox", id, "terminal", gone[i], "err", err)
		}
	}
}
