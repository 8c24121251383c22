package launch

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/pty"
	"github.com/coop-dev/coop/internal/linux/ring"
)

// played is PID 1's side of a terminal, played by the test.
type played struct {
	t             *testing.T
	ring          *ring.Writer
	master, slave int
	out, in       int // what output is fed through
}

func play(t *testing.T) *played {
	t.Helper()
	w, err := ring.New("test")
	if err != nil {
		t.Fatal(err)
	}
	p := &played{t: t, ring: w}
	if p.master, p.slave, err = pty.Open("/dev/pts/ptmx"); err != nil {
		t.Skipf("needs a devpts: %v", err)
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	p.out, p.in = pipe[0], pipe[1]
	t.Cleanup(func() {
		w.Close()
		fdpass.CloseAll([]int{p.master, p.slave, p.out, p.in})
	})
	return p
}

// beside runs f beside the test, which waits for it at the latest at its end.
func beside(t *testing.T, f func()) (wait func()) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(f)
	t.Cleanup(wg.Wait)
	return wg.Wait
}

func (p *played) fds() []int { return append(append([]int{}, p.ring.Descriptors()...), p.master) }

func (p *played) says(s string) {
	p.t.Helper()
	if _, err := unix.Write(p.in, []byte(s)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.ring.Fill(p.out); err != nil {
		p.t.Fatal(err)
	}
	p.ring.Tell()
}

// opened is a terminal whose request the test has answered.
func opened(t *testing.T) (*Init, peer, *Terminal, *played) {
	t.Helper()
	in, p := connected(t)
	pl := play(t)
	beside(t, func() {
		m := p.request(initproto.OpTerminal)
		m.PID = 77
		p.send(initproto.Message{ID: m.ID, Op: m.Op, PID: 77}, pl.fds()...)
	})
	term, err := in.OpenTerminal(t.Context(), 3, TerminalSize{80, 24}, initproto.Spawn{Exec: "e", Argv: []string{"x"}, Note: "n"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { term.Close() })
	return in, p, term, pl
}

func (p peer) ended(exec string, s initproto.Status) {
	p.send(initproto.Message{Op: initproto.OpExited, Exec: exec, Status: &s})
}

func TestTerminalReadsWritesResizes(t *testing.T) {
	in, p, term, pl := opened(t)
	if term.Program().PID != 77 || in.NextTerminal() != 4 || len(in.Terminals()) != 1 {
		t.Errorf("%+v, next %d", term.Program(), in.NextTerminal())
	}
	pl.says("hello")
	b := make([]byte, 10)
	if n, err := term.ReadAt(b, 1); err != nil || string(b[:n]) != "ello" {
		t.Errorf("%q, %v", b[:n], err)
	}
	term.Ack(5)
	if from, to, err := term.Kept(); from != 5 || to != 5 || err != nil {
		t.Error(from, to, err)
	}
	if _, err := term.Write([]byte("in\n")); err != nil {
		t.Error(err)
	}
	if n, err := unix.Read(pl.slave, b); err != nil || string(b[:n]) != "in\n" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if err := term.Resize(123, 45); err != nil {
		t.Error(err)
	}
	if cols, rows, err := pty.Size(pl.slave); cols != 123 || rows != 45 || err != nil {
		t.Error(cols, rows, err)
	}
	// A reader that waits is woken by the end, and gets what came before it.
	got := make(chan error)
	beside(t, func() {
		n, err := term.ReadAt(b, 5)
		if err != nil || string(b[:n]) != "!" {
			t.Errorf("%q, %v", b[:n], err)
		}
		_, err = term.ReadAt(b, 6)
		got <- err
	})
	pl.says("!")
	p.ended("e", initproto.Status{Code: 3})
	if err := <-got; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if s, err := term.Program().Wait(t.Context()); err != nil || s.Code != 3 {
		t.Error(s, err)
	}
	if _, err := term.Write([]byte("x")); !errors.Is(err, ErrIdle) {
		t.Error(err)
	}
	if err := term.Resize(1, 1); !errors.Is(err, ErrIdle) {
		t.Error(err)
	}
}

func TestTerminalRestartGoesOn(t *testing.T) {
	_, p, term, pl := opened(t)
	pl.says("one")
	p.ended("e", initproto.Status{})
	<-term.Program().Done()
	next := play(t) // a fresh PTY, the same ring
	beside(t, func() {
		m := p.request(initproto.OpTerminal)
		p.send(initproto.Message{ID: m.ID, Op: m.Op, PID: 78}, append(append([]int{}, pl.ring.Descriptors()...), next.master)...)
	})
	if err := term.Restart(t.Context(), TerminalSize{}, initproto.Spawn{Exec: "f", Argv: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	pl.says("two")
	b := make([]byte, 10)
	if n, err := term.ReadAt(b, 0); err != nil || string(b[:n]) != "onetwo" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if _, err := term.Write([]byte("y\n")); err != nil {
		t.Error(err)
	}
	if n, err := unix.Read(next.slave, b); err != nil || string(b[:n]) != "y\n" {
		t.Errorf("%q, %v", b[:n], err)
	}
	p.ended("e", initproto.Status{Code: 9}) // the old one again: it changes nothing
	p.ended("f", initproto.Status{Code: 1})
	if s, err := term.Program().Wait(t.Context()); err != nil || s.Code != 1 {
		t.Error(s, err)
	}
}

// TestWriteToOneThatDoesNotRead ends with ErrFull, and what was taken is told.
func TestWriteToOneThatDoesNotRead(t *testing.T) {
	_, _, term, pl := opened(t)
	tio, err := unix.IoctlGetTermios(pl.slave, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	tio.Lflag &^= unix.ICANON | unix.ECHO
	if err := unix.IoctlSetTermios(pl.slave, unix.TCSETS, tio); err != nil {
		t.Fatal(err)
	}
	n, err := term.Write(make([]byte, 1<<20))
	if !errors.Is(err, ErrFull) || n == 0 || n >= 1<<20 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestTerminalCloseWakesTheReader(t *testing.T) {
	in, _, term, _ := opened(t)
	got := make(chan error)
	go func() { _, err := term.ReadAt(make([]byte, 1), 0); got <- err }()
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if len(in.Terminals()) != 0 {
		t.Error("it is still listed")
	}
	term.Ack(1)
	if err := term.Close(); err != nil {
		t.Error("closing twice:", err)
	}
}

// TestTerminalOfALostSandbox: what is in the ring can still be read.
func TestTerminalOfALostSandbox(t *testing.T) {
	in, p, term, pl := opened(t)
	pl.says("last words")
	p.Socket.Close()
	<-in.Lost()
	b := make([]byte, 20)
	if n, err := term.ReadAt(b, 0); err != nil || string(b[:n]) != "last words" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if _, err := term.ReadAt(b, 10); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if _, err := term.Program().Wait(t.Context()); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
}

// TestAdoptTerminals: a new daemon gets what the old one had, also an end that is
// told between hello and adopt.
func TestAdoptTerminals(t *testing.T) {
	in, p := connected(t)
	runs, ended := play(t), play(t)
	runs.says("some output")
	beside(t, func() {
		m := p.request(initproto.OpHello)
		p.send(initproto.Message{ID: m.ID, Op: m.Op, Hello: &initproto.Hello{
			Version: initproto.Version, NextTerminal: 9,
			Terminals: []initproto.Terminal{
				{Number: 0, Exec: "a", PID: 5, Note: "note"},
				{Number: 4, Exec: "b", PID: 6, Status: &initproto.Status{Code: 2, RanMs: 30}},
				{Number: 6, Exec: "c", PID: 7},
			},
		}})
		p.ended("c", initproto.Status{Code: 8}) // it has just ended
		m = p.request(initproto.OpAdoptTerm)
		p.send(initproto.Message{ID: m.ID, Op: m.Op}, runs.fds()...)
		m = p.request(initproto.OpAdoptTerm)
		p.send(initproto.Message{ID: m.ID, Op: m.Op}, ended.ring.Descriptors()...)
		m = p.request(initproto.OpAdoptTerm)
		p.send(initproto.Message{ID: m.ID, Op: m.Op}, ended.ring.Descriptors()...)
	})
	if err := in.hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := in.Terminals()
	if len(all) != 3 || in.NextTerminal() != 9 {
		t.Fatalf("%d terminals, next %d", len(all), in.NextTerminal())
	}
	for _, term := range all {
		t.Cleanup(func() { term.Close() })
	}
	b := make([]byte, 20)
	if n, err := all[0].ReadAt(b, 5); err != nil || string(b[:n]) != "output" || all[0].Program().Note != "note" {
		t.Errorf("%q, %v", b[:n], err)
	}
	for i, code := range map[int]int{1: 2, 2: 8} {
		if s, err := all[i].Program().Wait(t.Context()); err != nil || s.Code != code {
			t.Errorf("terminal %d: %+v, %v", all[i].Number, s, err)
		}
	}
}

// TestHostileTerminals: what PID 1 says about terminals is checked, and nothing
// of a refused answer stays open.
func TestHostileTerminals(t *testing.T) {
	many := make([]initproto.Terminal, maxTerminals+1)
	for name, h := range map[string]initproto.Hello{
		"too many":        {Terminals: many, NextTerminal: 1 << 20},
		"negative next":   {NextTerminal: -1},
		"huge next":       {NextTerminal: maxNumber + 1},
		"negative number": {NextTerminal: 5, Terminals: []initproto.Terminal{{Number: -1}}},
		"number past":     {NextTerminal: 5, Terminals: []initproto.Terminal{{Number: 5}}},
	} {
		in, p := connected(t)
		wait := beside(t, func() {
			m := p.request(initproto.OpHello)
			h.Version = initproto.Version
			p.send(initproto.Message{ID: m.ID, Op: m.Op, Hello: &h})
		})
		if err := in.hello(t.Context()); !errors.Is(err, initproto.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		wait()
	}
	for name, give := range map[string]func(*played) []int{
		"none":             func(*played) []int { return nil },
		"too few":          func(pl *played) []int { return pl.fds()[:2] },
		"too many":         func(pl *played) []int { return append(pl.fds(), pl.master) },
		"not a ring":       func(pl *played) []int { return []int{pl.master, pl.master, pl.master, pl.master} },
		"of another order": func(pl *played) []int { f := pl.fds(); return []int{f[1], f[0], f[2], f[3]} },
	} {
		in, p := connected(t)
		pl := play(t)
		before := fds(t)
		wait := beside(t, func() {
			m := p.request(initproto.OpTerminal)
			p.send(initproto.Message{ID: m.ID, Op: m.Op, PID: 1}, give(pl)...)
		})
		_, err := in.OpenTerminal(t.Context(), 1, TerminalSize{}, initproto.Spawn{Exec: "e", Argv: []string{"x"}})
		wait()
		if !errors.Is(err, initproto.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		if after := fds(t); after > before {
			t.Errorf("%s: %d descriptors before, %d after", name, before, after)
		}
	}
}

// TestTerminalGivenUp: a program whose start nobody waited for is ended and its
// terminal forgotten.
func TestTerminalGivenUp(t *testing.T) {
	in, p := connected(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.OpenTerminal(ctx, 1, TerminalSize{}, initproto.Spawn{Exec: "e", Argv: []string{"x"}}); err == nil {
		t.Fatal("opened")
	}
	p.request(initproto.OpTerminal)
	p.request(initproto.OpKill)
	p.ended("e", initproto.Status{Code: 137, Signal: 9})
	done := make(chan initproto.Op, 1)
	go func() { m, _, _ := p.Read(); done <- m.Op }()
	select {
	case op := <-done:
		if op != initproto.OpForget {
			t.Errorf("%s came", op)
		}
	case <-time.After(10 * time.Second):
		t.Error("it is never forgotten")
		p.Socket.Close()
	}
}
