package engine

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coop-dev/coop/internal/launch"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
)

// maxTerminals bounds what may be open at once in one sandbox.
const maxTerminals = 128

// terminals are those of one running sandbox.
type terminals struct {
	live  atomic.Pointer[live] // the sandbox as it is now
	agent sync.Mutex           // terminal 0 is made once

	mu     sync.Mutex
	list   map[int]*seat
	opened int  // being opened, not in the list yet
	next   int  // the first number that was never given
	ending bool // nothing is started on them any more
}

func newTerminals() *terminals { return &terminals{list: map[int]*seat{}, next: 1} }

// seat is one terminal: what PID 1 keeps of it, what the daemon serves of it,
// and what is to run on it.
type seat struct {
	sandbox sandbox.ID
	number  int
	pty     *launch.Terminal
	hub     *terminal.Terminal
	over    context.Context // ends when the daemon lets go of the terminal
	close   context.CancelCauseFunc
	orders  chan order    // restart, kill
	retired chan struct{} // closed when a shell or a command has ended

	mu    sync.Mutex
	note  seatNote // of the present program
	ended bool     // its program is gone and no other will come
}

func (s *seat) noted() seatNote {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.note
}

func (s *seat) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// reserve takes a number for a new terminal; -1 asks for the next one.
func (ts *terminals) reserve(number int) (int, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	switch {
	case ts.ending:
		return 0, sandbox.Errorf(sandbox.Conflict, "the sandbox is being stopped")
	case len(ts.list)+ts.opened >= maxTerminals:
		return 0, sandbox.Errorf(sandbox.Exhausted, "the sandbox has %d terminals already", maxTerminals).
			WithHint("end some with: coop terminal kill")
	}
	ts.opened++
	if number < 0 {
		number = ts.next
		ts.next++
	}
	return number, nil
}

// enter ends a reservation, with the seat if it came to one.
func (ts *terminals) enter(s *seat) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.opened--
	if s != nil {
		ts.list[s.number] = s
	}
}

// remove takes a seat out, and reports whether it was still in.
func (ts *terminals) remove(s *seat) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.list[s.number] != s {
		return false
	}
	delete(ts.list, s.number)
	return true
}

// putBack undoes remove, unless all are let go of meanwhile.
func (ts *terminals) putBack(s *seat) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !ts.ending {
		ts.list[s.number] = s
	}
	return !ts.ending
}

func (ts *terminals) get(number int) *seat {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.list[number]
}

// all lists the seats by number.
func (ts *terminals) all() []*seat {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	list := make([]*seat, 0, len(ts.list))
	for _, s := range ts.list {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *seat) int { return cmp.Compare(a.number, b.number) })
	return list
}

// settle keeps anything from being started on the terminals again.
func (ts *terminals) settle(ending bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.ending = ending
}

func (ts *terminals) isEnding() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.ending
}

// closeAll lets go of every terminal; what runs on them goes on.
func (ts *terminals) closeAll(reason string) {
	ts.settle(true)
	for _, s := range ts.all() {
		ts.remove(s)
		s.letGo(reason)
	}
}

// letGo ends what the daemon does for a terminal.
func (s *seat) letGo(reason string) {
	s.close(nil)
	_ = s.hub.Close(reason) // the log was written as far as it could be
}

// terminalsDir is where the logs are.
func (e *Engine) terminalsDir(id sandbox.ID) string {
	return filepath.Join(e.dir(id), "terminals")
}

// Terminals lists the live ones, by number.
func (e *Engine) Terminals(ctx context.Context, ref string) ([]*terminal.Terminal, error) {
	l, err := e.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	var list []*terminal.Terminal
	for _, s := range l.terminals.all() {
		if s.number == 0 || !s.isOver() {
			list = append(list, s.hub)
		}
	}
	return list, nil
}

// Terminal is a live one, or one that has ended and whose end nobody has seen
// yet.
func (e *Engine) Terminal(ctx context.Context, ref string, n int) (*terminal.Terminal, error) {
	l, err := e.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	s := l.terminals.get(n)
	if s == nil {
		return nil, noTerminal(n)
	}
	return s.hub, nil
}

func noTerminal(n int) error {
	return sandbox.Errorf(sandbox.NotFound, "no terminal %d", n).WithHint("coop terminal ls lists them")
}

// TerminalLog opens what is stored of a terminal, also of one that has ended and
// of a sandbox that is stopped. The caller closes it.
func (e *Engine) TerminalLog(ctx context.Context, ref string, n int) (*terminal.History, error) {
	r, err := e.Store.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	if l := e.running(r.ID); l != nil {
		if s := l.terminals.get(n); s != nil {
			return s.hub.History()
		}
	}
	known, err := terminal.Numbers(e.terminalsDir(r.ID))
	if err != nil {
		return nil, err
	}
	if !slices.Contains(known, n) {
		return nil, noTerminal(n)
	}
	return terminal.OpenHistory(terminal.Dir(e.terminalsDir(r.ID), n))
}
