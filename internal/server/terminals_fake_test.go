package server

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
)

// fakePty is a terminal that prints what the test says and remembers input.
type fakePty struct {
	mu     sync.Mutex
	change *sync.Cond
	out    []byte
	acked  uint64
	ended  bool
	closed bool
	in     []byte
}

func newFakePty() *fakePty {
	p := &fakePty{}
	p.change = sync.NewCond(&p.mu)
	return p
}

func (p *fakePty) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.change.Broadcast()
}

func (p *fakePty) await(f func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !f() {
		p.change.Wait()
	}
}

// print waits until what was printed is stored.
func (p *fakePty) print(s string) {
	p.set(func() { p.out = append(p.out, s...) })
	p.await(func() bool { return p.acked == uint64(len(p.out)) || p.closed })
}

func (p *fakePty) ReadAt(b []byte, off uint64) (n int, err error) {
	p.await(func() bool { return p.closed || p.ended || off < uint64(len(p.out)) })
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return 0, errors.New("closed")
	case off < uint64(len(p.out)):
		return copy(b, p.out[off:]), nil
	}
	return 0, io.EOF
}

func (p *fakePty) Ack(off uint64) { p.set(func() { p.acked = off }) }

func (p *fakePty) Write(b []byte) (int, error) {
	p.set(func() { p.in = append(p.in, b...) })
	return len(b), nil
}

func (p *fakePty) Resize(int, int) error { return nil }
func (p *fakePty) Stream() string        { return "s" }

func (p *fakePty) Close() error {
	p.set(func() { p.closed = true })
	return nil
}

// fakeTerminals has real terminals over fake PTYs; each opened one is numbered
// on, and 0 is there from the beginning.
type fakeTerminals struct {
	t       *testing.T
	engine  *fakeEngine
	dir     string
	mu      sync.Mutex
	list    []*terminal.Terminal
	ptys    []*fakePty
	request terminal.Request
	restart terminal.Restart
}

func newFakeTerminals(t *testing.T, e *fakeEngine) *fakeTerminals {
	f := &fakeTerminals{t: t, engine: e, dir: t.TempDir()}
	f.open(terminal.RoleAgent, "agent")
	return f
}

func (f *fakeTerminals) open(role, command string) *terminal.Terminal {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := newFakePty()
	t, err := terminal.Open(terminal.Config{
		Number: len(f.list), Role: role, Command: command, Pty: p, Dir: terminal.Dir(f.dir, len(f.list)), Block: [][]byte{{4}},
	})
	must(f.t, err)
	f.t.Cleanup(func() { _ = t.Close("test ends") })
	t.Started(command, 7)
	f.list, f.ptys = append(f.list, t), append(f.ptys, p)
	return t
}

func (f *fakeTerminals) Terminals(_ context.Context, ref string) ([]*terminal.Terminal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list, f.engine.called("terminals", ref)
}

func (f *fakeTerminals) Terminal(_ context.Context, ref string, n int) (*terminal.Terminal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n >= len(f.list) || f.list[n] == nil {
		return nil, sandbox.Errorf(sandbox.NotFound, "no terminal %d", n)
	}
	return f.list[n], f.engine.called("terminal", ref)
}

func (f *fakeTerminals) OpenTerminal(_ context.Context, ref string, r terminal.Request) (*terminal.Terminal, bool, error) {
	f.request = r
	if err := f.engine.called("openTerminal", ref); err != nil {
		return nil, false, err
	}
	if r.Reuse {
		return f.list[0], false, nil
	}
	return f.open(r.Role, r.Command), true, nil
}

func (f *fakeTerminals) KillTerminal(_ context.Context, ref string, n int, _ string) error {
	return f.engine.called("killTerminal "+strconv.Itoa(n), ref)
}

func (f *fakeTerminals) RestartTerminal(ctx context.Context, ref string, n int, r terminal.Restart, _ string) (*terminal.Terminal, error) {
	f.restart = r
	return f.Terminal(ctx, ref, n)
}

func (f *fakeTerminals) TerminalLog(_ context.Context, ref string, n int) (*terminal.History, error) {
	h, err := terminal.OpenHistory(terminal.Dir(f.dir, n))
	if errors.Is(err, os.ErrNotExist) {
		return nil, sandbox.Errorf(sandbox.NotFound, "no terminal %d", n)
	}
	return h, errors.Join(err, f.engine.called("terminalLog", ref))
}

func (f *fakeTerminals) Restart(_ context.Context, ref string, r terminal.Restart, _ string) (engine.View, error) {
	f.restart = r
	return exampleView(), f.engine.called("restart", ref)
}
