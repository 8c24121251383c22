package cli

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// loud switches on what a program may leave behind.
const loud = "\x1b[?1049h\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[?1h\x1b=\x1b[?25l\x1b[>1u\x1b[31mready"

// quiet must be said before coop ends.
var quiet = []string{"\x1b[?1049l", "\x1b[?1000l", "\x1b[?1006l", "\x1b[?2004l", "\x1b[?1l", "\x1b>", "\x1b[?25h", "\x1b[<1u", "\x1b[m"}

// shows is a daemon with one sandbox, box, and what its terminals show.
func shows(t *testing.T, show func(*fakedaemon.View)) *world {
	t.Helper()
	w := newWorld(t)
	w.daemon.Add(sandboxNamed("box"))
	w.daemon.Terminals.Show = show
	return w
}

func TestTerminalIsGivenBackOnEveryWayOut(t *testing.T) {
	for name, way := range map[string]struct {
		daemon func(*fakedaemon.View)
		person func(*testing.T, *seat)
		status int
		says   string
	}{
		"exit":    {daemon: func(v *fakedaemon.View) { v.Exit(7) }, status: 7},
		"killed":  {daemon: func(v *fakedaemon.View) { v.Control(exitBy("SIGKILL")) }, status: 137},
		"timeout": {daemon: func(v *fakedaemon.View) { v.Control(timedOut()) }, status: 124, says: "time limit"},
		"error": {
			daemon: func(v *fakedaemon.View) {
				v.Control(api.Control{Type: "error", Error: &api.Error{Code: api.CodeInternal, Message: "no more"}})
			},
			status: 125, says: "coop: no more\r\n",
		},
		"failed": {
			daemon: func(v *fakedaemon.View) { v.Control(api.Control{Type: "failed", Reason: "3 exits\x1b"}) },
			status: 1, says: "coop: the agent is not started again: 3 exits\\x1b\r\nhint: ",
		},
		"detach":    {person: func(t *testing.T, s *seat) { s.typing(t, "\x1d") }, says: "coop: detached from terminal 1 of box"},
		"detach, u": {person: func(t *testing.T, s *seat) { s.typing(t, "\x1b[93;5u") }, says: "hint: come back with coop attach box --terminal 1\r\n"},
		"SIGTERM":   {person: signals(syscall.SIGTERM), status: 130, says: "coop: interrupted"},
		"SIGHUP":    {person: signals(syscall.SIGHUP), status: 130},
		"SIGINT":    {person: signals(syscall.SIGINT), status: 130},
		"SIGQUIT":   {person: signals(syscall.SIGQUIT), status: 130},
		"SIGUSR1":   {person: signals(syscall.SIGUSR1), status: 130},
	} {
		t.Run(name, func(t *testing.T) {
			w := shows(t, func(v *fakedaemon.View) {
				v.Stdout([]byte(loud))
				if way.daemon != nil {
					way.daemon(v)
				}
				v.Await("never")
			})
			s := newSeat(t)
			s.coop(t, w.daemon, "exec", "-t", "-s", "box", "x")
			s.await(t, "ready")
			if way.person != nil {
				if !s.isRaw(t) {
					t.Error("the terminal was not raw")
				}
				way.person(t, s)
			}
			if got := s.exit(t); got != way.status {
				t.Errorf("status %d, want %d", got, way.status)
			}
			after := s.await(t, "ready")
			for _, undo := range quiet {
				if !strings.Contains(after, undo) {
					t.Errorf("%q is missing in %q", undo, after)
				}
			}
			if !strings.Contains(after, way.says) {
				t.Errorf("%q is missing in %q", way.says, after)
			}
		})
	}
}

func signals(sig os.Signal) func(*testing.T, *seat) {
	return func(t *testing.T, s *seat) {
		t.Helper()
		if err := s.cmd.Process.Signal(sig); err != nil {
			t.Error(err)
		}
	}
}

func exitBy(signal string) api.Control {
	return api.Control{Type: "exit", Exit: &api.ExecResult{ExitCode: 137, Signal: signal}}
}

func timedOut() api.Control {
	return api.Control{Type: "exit", Exit: &api.ExecResult{TimedOut: true}}
}

// A sandbox that is gone when the connection breaks ends the view.
func TestSandboxGone(t *testing.T) {
	var w *world
	w = shows(t, func(v *fakedaemon.View) {
		v.Stdout([]byte(loud))
		w.daemon.Remove("box")
	})
	s := newSeat(t)
	s.coop(t, w.daemon, "attach", "box")
	if got := s.exit(t); got != 3 {
		t.Errorf("status %d", got)
	}
	if !strings.Contains(s.await(t, "ready"), "coop: no sandbox") {
		t.Errorf("%q", s.screen())
	}
}

// A terminal that hangs up ends coop; there is nothing left to restore.
func TestHangup(t *testing.T) {
	gone := make(chan struct{})
	w := shows(t, func(v *fakedaemon.View) {
		v.Stdout([]byte(loud))
		v.Await("never")
		close(gone)
	})
	s := newSeat(t)
	s.coop(t, w.daemon, "attach", "box")
	s.await(t, "ready")
	s.master.Close()
	<-s.ended
	<-gone
}

// A panic in any part of a view restores the terminal before it is told.
func TestPanicGivesTheTerminalBack(t *testing.T) {
	s := newSeat(t)
	v := &view{tty: newLocalTerminal(s.slave, s.slave)}
	defer func() {
		p := recover()
		if text, _ := p.(string); !strings.Contains(text, "boom") || !strings.Contains(text, "view_test.go") {
			t.Errorf("%v", p)
		}
		if s.termios(t) != s.before {
			t.Error("the terminal is not as it was")
		}
		s.await(t, "\x1b[?1049l")
		s.master.Close() // ends the read of the keyboard
	}()
	v.run(t.Context(), panics{v})
	t.Error("no panic")
}

// panics is a stream that shows something and dies.
type panics struct{ v *view }

func (p panics) Next() (f client.Frame, err error) {
	if err := p.v.put([]byte(loud)); err != nil {
		return f, err
	}
	panic("boom")
}
func (panics) WriteStdin(p []byte) (int, error) { return len(p), nil }
func (panics) Resize(int, int) error            { return nil }
func (panics) Detach() error                    { return nil }
func (panics) Close() error                     { return nil }

func TestResize(t *testing.T) {
	w := shows(t, func(v *fakedaemon.View) {
		v.Stdout([]byte("is " + v.Query.Get("cols") + "x" + v.Query.Get("rows") + "\r\n"))
		_, c := v.Await("resize")
		if c != nil && c.Cols == 100 && c.Rows == 30 {
			v.Exit(0)
		}
	})
	s := newSeat(t)
	s.coop(t, w.daemon, "shell", "box")
	s.await(t, "is 80x24")
	s.resize(t, 100, 30)
	if got := s.exit(t); got != 0 {
		t.Errorf("status %d, %q", got, s.screen())
	}
}

// What is pasted is text, whatever it contains.
func TestDetachKeyInAPaste(t *testing.T) {
	const pasted = "\x1b[200~a\x1db\x1b[201~"
	got := make(chan string, 1)
	w := shows(t, func(v *fakedaemon.View) {
		v.Stdout([]byte("ready"))
		var in []byte
		for len(in) < len(pasted) {
			data, _ := v.Next()
			if data == nil {
				return
			}
			in = append(in, data...)
		}
		got <- string(in)
		v.Stdout([]byte("pasted"))
		v.Await("never")
	})
	s := newSeat(t)
	s.coop(t, w.daemon, "attach", "box")
	s.await(t, "ready")
	s.typing(t, pasted)
	s.await(t, "pasted")
	if in := <-got; in != pasted {
		t.Errorf("%q", in)
	}
	s.typing(t, "\x1d")
	if got := s.exit(t); got != 0 || !strings.Contains(s.screen(), "hint: come back with coop attach box\r\n") {
		t.Errorf("status %d, %q", got, s.screen())
	}
}

func TestReadOnly(t *testing.T) {
	input := make(chan []byte, 1)
	w := shows(t, func(v *fakedaemon.View) {
		v.Stdout([]byte("ro=" + v.Query.Get("readOnly")))
		in, _ := v.Await("never")
		input <- in
	})
	s := newSeat(t)
	s.coop(t, w.daemon, "attach", "--read-only", "box")
	s.await(t, "ro=1")
	s.typing(t, "typed\x03")
	if got := s.exit(t); got != 0 {
		t.Errorf("status %d", got)
	}
	if in := <-input; in != nil {
		t.Errorf("%q was sent", in)
	}
}

// A daemon that goes away without a word is found again, with a fresh screen.
func TestReattach(t *testing.T) {
	var streams atomic.Int32
	w := shows(t, func(v *fakedaemon.View) {
		switch streams.Add(1) {
		case 1, 2:
			v.Stdout([]byte(loud))
		case 3:
			v.Control(api.Control{Type: "detached", Reason: "the daemon ends"})
		case 4:
			v.Control(api.Control{Type: "error", Error: &api.Error{Code: api.CodeUnavailable, Message: "shutting down"}})
		default:
			v.Stdout([]byte("back at " + v.Query.Get("cols") + "\r\n"))
			if in, _ := v.Next(); string(in) == "x" {
				v.Exit(4)
			}
		}
	})
	s := newSeat(t)
	s.coop(t, w.daemon, "shell", "box")
	s.await(t, "back at 80")
	s.typing(t, "x")
	if got := s.exit(t); got != 4 || streams.Load() != 5 {
		t.Errorf("status %d, %d streams, %q", got, streams.Load(), s.screen())
	}
	between, _, _ := strings.Cut(s.await(t, "ready"), "ready")
	if !strings.Contains(between, "\x1b[?1049l") {
		t.Errorf("modes were not undone in between: %q", between)
	}
	if strings.Contains(s.screen(), "connection lost") {
		t.Log("slow machine: the person was told") // no fault
	}
}

// The person hears of a loss that takes time, and can leave meanwhile.
func TestLongLoss(t *testing.T) {
	w := shows(t, func(v *fakedaemon.View) { v.Stdout([]byte("ready")) })
	var attaches atomic.Int32
	w.daemon.Fail = func(_, path string) *api.Error {
		if !strings.HasSuffix(path, "/attach") {
			return nil
		}
		if attaches.Add(1) > 1 {
			return &api.Error{Code: api.CodeUnavailable, Message: "not yet"}
		}
		return nil
	}
	s := newSeat(t)
	s.coop(t, w.daemon, "attach", "box")
	s.await(t, "coop: connection lost, trying again")
	s.typing(t, "\x1d")
	if got := s.exit(t); got != 0 {
		t.Errorf("status %d", got)
	}
}

func TestDroppedAgainAndAgain(t *testing.T) {
	var streams atomic.Int32
	w := shows(t, func(*fakedaemon.View) { streams.Add(1) })
	s := newSeat(t)
	s.coop(t, w.daemon, "attach", "box")
	if got := s.exit(t); got != 4 || !strings.Contains(s.screen(), errDropped.Error()) {
		t.Errorf("status %d, %q", got, s.screen())
	}
	if n := streams.Load(); n > maxShort+1 {
		t.Errorf("%d streams", n)
	}
}

// The agent's end is not the view's, unless nothing comes after it.
func TestAgentRestarts(t *testing.T) {
	w := shows(t, func(v *fakedaemon.View) {
		v.Stdout([]byte("one\r\n"))
		v.Exit(3)
		v.Control(api.Control{Type: "restarting", DelayMs: 100})
		v.Control(api.Control{Type: "started", Terminal: &api.Terminal{}})
		v.Stdout([]byte("two\r\n"))
		v.Exit(5)
		v.Await("never")
	})
	s := newSeat(t)
	s.coop(t, w.daemon, "attach", "box")
	s.await(t, "coop: the agent has ended with status 3; it is started again")
	if got := s.exit(t); got != 0 {
		t.Errorf("status %d", got)
	}
	if after := s.await(t, "two"); !strings.Contains(after, "coop: the program on terminal 0 has ended with status 5") {
		t.Errorf("%q", after)
	}
}

// A terminal that somebody has stopped takes no byte; it is given back all the
// same.
func TestLeavingAStuckTerminal(t *testing.T) {
	master, slave := openPTY(t) // nobody reads the master
	s := &seat{slave: slave}
	before := s.termios(t)
	l := newLocalTerminal(slave, slave)
	if err := l.enter(); err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	began := make(chan struct{})
	writing.Go(func() {
		close(began)
		for {
			if _, err := l.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	<-began
	l.leave()
	l.leave()
	if s.termios(t) != before {
		t.Error("the terminal is not as it was")
	}
	master.Close() // wakes the writer
	writing.Wait()
	slave.Close()
}
