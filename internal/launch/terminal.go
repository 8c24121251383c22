package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/pidfd"
	"github.com/coop-dev/coop/internal/linux/pty"
	"github.com/coop-dev/coop/internal/linux/ring"
)

// Terminal is the daemon's hold on one terminal of a sandbox: its output, as far
// as it was not acknowledged, and its input. It stays when a program on it ends
// and another one is started.
type Terminal struct {
	Number int

	in   *Init
	ring *ring.Reader
	wmu  sync.Mutex // one write at a time: they share a deadline

	mu      sync.Mutex
	program *Program
	master  *os.File // nil when nothing runs on it
	closed  bool
}

// Program is one program on a terminal.
type Program struct {
	ID   string
	Note string
	PID  int // inside

	terminal *Terminal
	once     sync.Once
	done     chan struct{}
	end      initproto.Status
}

// TerminalSize is a window size in characters.
type TerminalSize struct{ Cols, Rows int }

var (
	// ErrFull says that a program does not read its terminal.
	ErrFull = errors.New("the program does not read its input")
	// ErrIdle says that nothing runs on a terminal.
	ErrIdle = errors.New("no program runs on the terminal")
)

// maxTerminals bounds what a PID 1 found again may hand over, maxNumber what it
// may call it.
const (
	maxTerminals = 1024
	maxNumber    = 1 << 30
)

// OpenTerminal starts a program on a new terminal.
func (in *Init) OpenTerminal(ctx context.Context, number int, size TerminalSize, s initproto.Spawn) (*Terminal, error) {
	t := &Terminal{Number: number, in: in}
	if err := t.start(ctx, size, s); err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.terminals[number] = t
	in.nextTerm = max(in.nextTerm, number+1)
	return t, nil
}

// Restart starts another program on a terminal whose last one has ended. The
// output goes on at the same offset.
func (t *Terminal) Restart(ctx context.Context, size TerminalSize, s initproto.Spawn) error {
	return t.start(ctx, size, s)
}

func (t *Terminal) start(ctx context.Context, size TerminalSize, s initproto.Spawn) error {
	p := t.in.expect(t, s.Exec, s.Note) // before it is started: its end may be told before the answer
	m := initproto.Message{
		Op: initproto.OpTerminal, Spawn: &s,
		Terminal: &initproto.Terminal{Number: t.Number, Cols: size.Cols, Rows: size.Rows},
	}
	answer, fds, err := t.in.call(ctx, m)
	if err != nil {
		t.in.unexpect(ctx, t.Number, p)
		return err
	}
	p.PID = answer.PID
	return t.take(p, fds)
}

// expect notes a program that may end from now on.
func (in *Init) expect(t *Terminal, id, note string) *Program {
	p := &Program{ID: id, Note: note, terminal: t, done: make(chan struct{})}
	in.mu.Lock()
	in.programs[id] = p
	early, ended := in.early[id]
	in.mu.Unlock()
	if ended {
		p.finish(early)
	}
	return p
}

// unexpect forgets a program that did not start. If only our patience ended it may
// run all the same: then it is ended and its terminal forgotten, unless another
// one was there before.
func (in *Init) unexpect(ctx context.Context, number int, p *Program) {
	if ctx.Err() == nil {
		in.mu.Lock()
		defer in.mu.Unlock()
		delete(in.programs, p.ID)
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), abandonTime)
		defer cancel()
		_ = in.conn.Write(initproto.Message{Op: initproto.OpKill, Exec: p.ID}) // one that did not start has nothing to kill
		_, _ = p.Wait(ctx)                                                     // nor an end
		in.mu.Lock()
		delete(in.programs, p.ID)
		known := in.terminals[number] != nil
		in.mu.Unlock()
		if !known {
			_ = in.conn.Write(initproto.Message{Op: initproto.OpForget, Terminal: &initproto.Terminal{Number: number}})
		}
	}()
}

// take makes the descriptors of an answer ours: the ring, unless we have it, and
// the master, unless the program has ended.
func (t *Terminal) take(p *Program, fds []int) error {
	if len(fds) != ring.FDs && len(fds) != ring.FDs+1 {
		fdpass.CloseAll(fds)
		return initproto.ErrProtocol
	}
	var master *os.File
	if len(fds) == ring.FDs+1 {
		master = pollable(fds[ring.FDs], "terminal")
	}
	if t.ring == nil {
		r, err := ring.Open(fds[:ring.FDs])
		if err != nil {
			closeFiles([]*os.File{master})
			return fmt.Errorf("%w: terminal %d: %w", initproto.ErrProtocol, t.Number, err)
		}
		t.ring = r
	} else {
		fdpass.CloseAll(fds[:ring.FDs])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	closeFiles([]*os.File{t.master})
	t.program, t.master = p, master
	if t.closed || p.ended() {
		closeFiles([]*os.File{master})
		t.master = nil
	}
	return nil
}

// adoptTerminals takes over what an earlier daemon left.
func (in *Init) adoptTerminals(ctx context.Context, h *initproto.Hello) error {
	if len(h.Terminals) > maxTerminals || h.NextTerminal < 0 || h.NextTerminal > maxNumber {
		return fmt.Errorf("%w: %d terminals before %d", initproto.ErrProtocol, len(h.Terminals), h.NextTerminal)
	}
	in.nextTerm = h.NextTerminal
	for _, x := range h.Terminals {
		if x.Number < 0 || x.Number >= h.NextTerminal || in.terminals[x.Number] != nil {
			return fmt.Errorf("%w: terminal %d", initproto.ErrProtocol, x.Number)
		}
		if err := in.adoptTerminal(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

func (in *Init) adoptTerminal(ctx context.Context, x initproto.Terminal) error {
	t := &Terminal{Number: x.Number, in: in}
	p := in.expect(t, x.Exec, x.Note)
	p.PID = x.PID
	m := initproto.Message{Op: initproto.OpAdoptTerm, Terminal: &initproto.Terminal{Number: x.Number}}
	_, fds, err := in.call(ctx, m)
	if err != nil {
		return err
	}
	if err := t.take(p, fds); err != nil {
		return err
	}
	if x.Status != nil {
		p.finish(*x.Status)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.terminals[t.Number] = t
	return nil
}

// Terminals lists the terminals PID 1 holds, by number.
func (in *Init) Terminals() []*Terminal {
	in.mu.Lock()
	defer in.mu.Unlock()
	list := make([]*Terminal, 0, len(in.terminals))
	for _, t := range in.terminals {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *Terminal) int { return a.Number - b.Number })
	return list
}

// NextTerminal is the first number no terminal ever had.
func (in *Init) NextTerminal() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.nextTerm
}

// nameStream says whose offsets these are: pid, start time and boot id name a
// process for ever.
func (in *Init) nameStream() string {
	boot, _ := pidfd.BootID()                // both are there while PID 1 is,
	start, _ := pidfd.StartTime(in.proc.PID) // and it is ours to collect
	return fmt.Sprintf("%s/%d/%d", boot, in.proc.PID, start)
}

// Stream names the life of PID 1 the offsets belong to.
func (t *Terminal) Stream() string { return t.in.stream() }

// Program is what runs on the terminal, or ran last.
func (t *Terminal) Program() *Program {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.program
}

// Kept is what can be read: the first byte that was not acknowledged, and the
// one after the last.
func (t *Terminal) Kept() (from, to uint64, err error) { return t.ring.Kept() }

// ReadAt copies output from offset off on. It blocks until there is some; io.EOF
// means that the present program has ended, with PID 1 perhaps, and all it wrote
// was read.
func (t *Terminal) ReadAt(p []byte, off uint64) (int, error) {
	for {
		// Asked before the ring is: PID 1 tells of an end only when everything
		// is in there.
		over := t.over()
		n, err := t.ring.ReadNow(p, off)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if over {
			return 0, io.EOF
		}
		if err := t.ring.Wait(off); err != nil {
			return 0, err
		}
	}
}

// over reports whether no more output will come at present.
func (t *Terminal) over() bool {
	select {
	case <-t.Program().done:
		return true
	case <-t.in.lost:
		return true
	default:
		return false
	}
}

// Ack says that everything before off is stored.
func (t *Terminal) Ack(off uint64) { t.ring.Ack(off) }

// fullTime is how long a program may leave its input unread before it counts as
// full.
const fullTime = time.Second

// Write is input. When the program does not read, it returns what it could write
// with ErrFull.
func (t *Terminal) Write(p []byte) (int, error) {
	t.wmu.Lock()
	defer t.wmu.Unlock()
	f := t.file()
	if f == nil {
		return 0, ErrIdle
	}
	for done := 0; ; {
		if err := f.SetWriteDeadline(time.Now().Add(fullTime)); err != nil {
			return done, err
		}
		n, err := f.Write(p[done:])
		done += n
		switch {
		case err == nil:
			return done, nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return done, err
		case n == 0:
			return done, ErrFull
		}
	}
}

func (t *Terminal) file() *os.File {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.master
}

// Resize sets the window size; the kernel tells the program.
func (t *Terminal) Resize(cols, rows int) error {
	f := t.file()
	if f == nil {
		return ErrIdle
	}
	return pty.Resize(f, cols, rows)
}

// Close lets go of the terminal without ending anything and wakes a blocked
// ReadAt.
func (t *Terminal) Close() error {
	t.in.mu.Lock()
	if t.in.terminals[t.Number] == t {
		delete(t.in.terminals, t.Number)
	}
	delete(t.in.programs, t.Program().ID)
	t.in.mu.Unlock()
	t.hangUp(true)
	t.ring.Close()
	return nil
}

// hangUp closes our hold on the master: with the last one of them the kernel
// tells whoever is still on the terminal.
func (t *Terminal) hangUp(closed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	closeFiles([]*os.File{t.master})
	t.master = nil
	t.closed = t.closed || closed
}

// Forget ends the terminal's existence in PID 1 and lets go of it. Its program
// must have ended.
func (t *Terminal) Forget(ctx context.Context) error {
	_, err := t.in.ask(ctx, initproto.Message{Op: initproto.OpForget, Terminal: &initproto.Terminal{Number: t.Number}})
	if err != nil {
		return err
	}
	return t.Close()
}

// finish notes the end and wakes the reader, who finds all output in the ring.
func (p *Program) finish(s initproto.Status) {
	p.once.Do(func() {
		p.end = plausible(s)
		close(p.done)
	})
	t := p.terminal
	t.mu.Lock()
	mine := t.program == p
	t.mu.Unlock()
	if !mine { // its start has not been answered yet
		return
	}
	t.hangUp(false)
	t.ring.Kick()
}

func (p *Program) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Done is closed when the program has ended and all it wrote can be read.
func (p *Program) Done() <-chan struct{} { return p.done }

// Wait returns how the program ended. When PID 1 goes away it is as killed.
func (p *Program) Wait(ctx context.Context) (initproto.Status, error) {
	select {
	case <-p.done:
		return p.end, nil
	default:
	}
	select {
	case <-p.done:
		return p.end, nil
	case <-p.terminal.in.lost:
		return initproto.Status{}, gone(ErrLost)
	case <-ctx.Done():
		return initproto.Status{}, context.Cause(ctx)
	}
}

// Signal reaches the program's process group.
func (p *Program) Signal(ctx context.Context, signal int) error {
	_, err := p.terminal.in.ask(ctx, initproto.Message{Op: initproto.OpSignal, Exec: p.ID, Signal: signal})
	return err
}

// Kill ends the program and everything it started, and returns when none is left.
func (p *Program) Kill(ctx context.Context) error {
	_, err := p.terminal.in.ask(ctx, initproto.Message{Op: initproto.OpKill, Exec: p.ID})
	return err
}
