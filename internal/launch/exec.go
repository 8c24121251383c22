package launch

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// Exec is one program inside. Its pipes belong to whoever holds the Exec.
type Exec struct {
	ID     string
	Note   string
	PID    int // inside
	Stdin  *os.File
	Stdout *os.File
	Stderr *os.File

	in   *Init
	done chan struct{}
	once sync.Once
	end  initproto.Status
}

// Spawn starts a program with pipes. Spawn.Stdin asks for one to write to;
// otherwise its input is empty.
func (in *Init) Spawn(ctx context.Context, s initproto.Spawn) (*Exec, error) {
	if e, err := in.become(ctx, s); err != errOrdinary {
		return e, err
	}
	p, err := makePipes(s.Stdin)
	if err != nil {
		return nil, err
	}
	defer p.closeTheirs()
	e := &Exec{ID: s.Exec, Note: s.Note, Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr, in: in, done: make(chan struct{})}
	// Entered before it is started: its end may be reported before the answer.
	in.enter(e)
	m, err := in.ask(ctx, initproto.Message{Op: initproto.OpSpawn, Spawn: &s}, p.fds()...)
	if err != nil {
		in.abandon(ctx, e)
		return nil, err
	}
	e.PID = m.PID
	return e, nil
}

// abandon forgets a program that did not start. If only our patience ended, it
// may have started after all: then it is killed and acknowledged.
func (in *Init) abandon(ctx context.Context, e *Exec) {
	if ctx.Err() == nil {
		in.leave(e)
		e.closePipes()
		return
	}
	go in.killAndRelease(e)
}

// killAndRelease is for a program nobody waits for.
func (in *Init) killAndRelease(e *Exec) {
	ctx, cancel := context.WithTimeout(context.Background(), abandonTime)
	defer cancel()
	_ = in.conn.Write(initproto.Message{Op: initproto.OpKill, Exec: e.ID}) // one that did not start has nothing to kill
	_, _ = e.Wait(ctx)                                                     // nor an end
	e.Release()
}

// enter puts a program into the table of those that are not acknowledged yet.
func (in *Init) enter(e *Exec) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.execs[e.ID] = e
}

// leave takes it out again.
func (in *Init) leave(e *Exec) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.execs, e.ID)
}

// abandonTime is how long an abandoned program may take to die.
const abandonTime = 5 * time.Second

// adopt takes over a program an earlier daemon started.
func (in *Init) adopt(ctx context.Context, x initproto.Exec) error {
	_, fds, err := in.call(ctx, initproto.Message{Op: initproto.OpAdopt, Exec: x.ID})
	if err != nil {
		return err
	}
	want := 2
	if x.Stdin {
		want = 3
	}
	if len(fds) != want {
		fdpass.CloseAll(fds)
		return initproto.ErrProtocol
	}
	e := &Exec{ID: x.ID, Note: x.Note, PID: x.PID, in: in, done: make(chan struct{})}
	if x.Stdin {
		e.Stdin, fds = pollable(fds[0], "stdin"), fds[1:]
	}
	e.Stdout, e.Stderr = pollable(fds[0], "stdout"), pollable(fds[1], "stderr")
	in.mu.Lock()
	in.execs[e.ID] = e
	early, ended := in.early[e.ID]
	in.mu.Unlock()
	if ended {
		e.finish(early)
	}
	if x.Status != nil {
		e.finish(*x.Status)
	}
	return nil
}

// Execs lists the programs that are not acknowledged yet.
func (in *Init) Execs() []*Exec {
	in.mu.Lock()
	defer in.mu.Unlock()
	list := make([]*Exec, 0, len(in.execs))
	for _, e := range in.execs {
		list = append(list, e)
	}
	return list
}

func (in *Init) exited(m initproto.Message) {
	if m.Status == nil {
		return
	}
	in.mu.Lock()
	e, p := in.execs[m.Exec], in.programs[m.Exec]
	if e == nil && p == nil && in.early != nil && len(in.early) < maxExecs {
		in.early[m.Exec] = *m.Status // hello has told of it, but it is not adopted yet
	}
	in.mu.Unlock()
	switch {
	case e != nil:
		e.finish(*m.Status)
	case p != nil:
		p.finish(*m.Status)
	}
}

// plausible bounds a status. The numbers come from inside; a status has eight bits.
func plausible(s initproto.Status) initproto.Status {
	if s.Code < 0 || s.Code > 255 || s.Signal < 0 || s.Signal > 64 || s.RanMs < 0 {
		return initproto.Status{Code: 255}
	}
	return s
}

// finish notes the end.
func (e *Exec) finish(s initproto.Status) {
	e.once.Do(func() {
		e.end = plausible(s)
		close(e.done)
	})
}

// Done is closed when the program has ended.
func (e *Exec) Done() <-chan struct{} { return e.done }

// Wait returns how the program ended. When PID 1 goes away it is as killed.
func (e *Exec) Wait(ctx context.Context) (initproto.Status, error) {
	select {
	case <-e.done:
		return e.end, nil
	default:
	}
	select {
	case <-e.done:
		return e.end, nil
	case <-e.in.lost:
		return initproto.Status{}, gone(ErrLost)
	case <-ctx.Done():
		return initproto.Status{}, context.Cause(ctx)
	}
}

// Signal reaches the program's process group.
func (e *Exec) Signal(ctx context.Context, signal int) error {
	_, err := e.in.ask(ctx, initproto.Message{Op: initproto.OpSignal, Exec: e.ID, Signal: signal})
	return err
}

// CloseStdin ends the program's input: both PID 1 and we hold the write end.
func (e *Exec) CloseStdin(ctx context.Context) error {
	if e.Stdin == nil {
		return nil
	}
	_ = e.Stdin.Close() // closing twice is the same
	_, err := e.in.ask(ctx, initproto.Message{Op: initproto.OpCloseStdin, Exec: e.ID})
	return err
}

// Kill ends the program and everything it started, daemonised or not, and
// returns when none is left.
func (e *Exec) Kill(ctx context.Context) error {
	_, err := e.in.ask(ctx, initproto.Message{Op: initproto.OpKill, Exec: e.ID})
	return err
}

// Release acknowledges the end and lets go of the pipes. It returns before that
// is done: somebody may be waiting for the answer.
func (e *Exec) Release() {
	e.in.mu.Lock()
	delete(e.in.execs, e.ID)
	e.in.released++
	e.in.mu.Unlock()
	go func() {
		e.closePipes()
		_ = e.in.conn.Write(initproto.Message{Op: initproto.OpAck, Exec: e.ID}) // a lost PID 1 keeps nothing
		e.in.prepare()
	}()
}

func (e *Exec) closePipes() {
	for _, f := range []*os.File{e.Stdin, e.Stdout, e.Stderr} {
		if f != nil {
			f.Close()
		}
	}
}
