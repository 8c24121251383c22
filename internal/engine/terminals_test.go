package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
)

// patience is how long anything here may take on a loaded machine.
const patience = 60 * time.Second

// viewer is a client with everything it was sent.
type viewer struct {
	t      *testing.T
	client *terminal.Client
	ctx    context.Context
	said   bytes.Buffer
}

func view(t *testing.T, hub *terminal.Terminal) *viewer {
	t.Helper()
	return viewAs(t, hub, terminal.ClientOptions{Cols: 100, Rows: 30})
}

func viewAs(t *testing.T, hub *terminal.Terminal, o terminal.ClientOptions) *viewer {
	t.Helper()
	c, err := hub.Attach(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &viewer{t: t, client: c, ctx: ctx}
}

// next takes one frame; nil control for output.
func (v *viewer) next() (*api.Control, error) {
	f, err := v.client.Next(v.ctx)
	for _, d := range f.Data {
		v.said.Write(d)
	}
	return f.Control, err
}

// until waits for a control frame of a type.
func (v *viewer) until(kind string) *api.Control {
	v.t.Helper()
	for {
		c, err := v.next()
		if err != nil {
			v.t.Fatalf("waiting for %s: %v; it said %q", kind, err, v.said.String())
		}
		if c != nil && c.Type == kind {
			return c
		}
	}
}

// sees waits for output that contains something.
func (v *viewer) sees(what string) {
	v.t.Helper()
	for !strings.Contains(v.said.String(), what) {
		if _, err := v.next(); err != nil {
			v.t.Fatalf("waiting for %q: %v; it said %q", what, err, v.said.String())
		}
	}
}

func (v *viewer) types(s string) {
	v.t.Helper()
	if err := v.client.Write([]byte(s)); err != nil {
		v.t.Fatal(err)
	}
}

func (w *world) terminal(ref string, r terminal.Request) *terminal.Terminal {
	w.t.Helper()
	hub, made, err := w.OpenTerminal(w.t.Context(), ref, r)
	if err != nil || !made {
		w.t.Fatal(made, err)
	}
	return hub
}

func TestTerminalRunsACommand(t *testing.T) {
	w := newWorld(t)
	box := w.make(sandbox.Spec{})
	hub := w.terminal(string(box.ID), terminal.Request{
		Role: terminal.RoleExec, Command: "tty; stty size; ps -o stat= -p $$; stat -c '%U %a' $(tty); echo $TERM $COLORTERM; exit 7", Cols: 91, Rows: 33,
		Env: map[string]string{"TERM": "xterm-kitty"},
	})
	if hub.Number() != 1 {
		t.Errorf("terminal %d", hub.Number())
	}
	v := viewAs(t, hub, terminal.ClientOptions{})
	end := v.until("exit")
	said := strings.ReplaceAll(v.said.String(), "\r\n", "|")
	for _, want := range []string{"/dev/pts/0|", "33 91|", "root 6", "xterm-kitty truecolor|"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %q", want, said)
		}
	}
	if !strings.Contains(said, "s+") && !strings.Contains(said, "Ss") {
		t.Errorf("not a session leader in the foreground: %q", said)
	}
	if end.Exit == nil || end.Exit.ExitCode != 7 {
		t.Errorf("%+v", end.Exit)
	}
}

func TestShellInputAndReuse(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{}).ID)
	hub := w.terminal(box, terminal.Request{Role: terminal.RoleShell})
	v := view(t, hub)
	v.types("echo $((6*7))x; shopt -q login_shell && echo lo''gin\r")
	v.sees("42x")
	v.sees("login")
	again, made, err := w.OpenTerminal(t.Context(), box, terminal.Request{Role: terminal.RoleShell, Reuse: true})
	if err != nil || made || again != hub {
		t.Errorf("reuse: %v, %v", made, err)
	}
	other := w.terminal(box, terminal.Request{Role: terminal.RoleShell})
	if other.Number() != 2 {
		t.Errorf("a new one has number %d", other.Number())
	}
	v.types("exit 3\r")
	if c := v.until("exit"); c.Exit.ExitCode != 3 {
		t.Errorf("%+v", c.Exit)
	}
	if _, err := v.next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the exit: %v", err)
	}
	if err := w.KillTerminal(t.Context(), box, 2, "test"); err != nil {
		t.Error(err)
	}
	if third := w.terminal(box, terminal.Request{Role: terminal.RoleShell}); third.Number() != 3 {
		t.Errorf("number %d was given again", third.Number())
	}
}

func TestAgentRestarts(t *testing.T) {
	w := newWorld(t)
	box := w.make(sandbox.Spec{Agent: sandbox.Agent{Command: "echo begin $$; read line; echo got $line; exit 5"}})
	hub, err := w.Terminal(t.Context(), string(box.ID), 0)
	if err != nil {
		t.Fatal(err)
	}
	v := view(t, hub)
	v.sees("begin")
	v.types("one\r")
	v.until("restarting")
	v.until("started")
	v.sees("got one")
	v.said.Reset()
	v.sees("begin")
	if i := hub.Info(); !i.Running || i.Restarts != 1 || i.Role != terminal.RoleAgent {
		t.Errorf("%+v", i)
	}
	// A restart by request takes what is new.
	agent := sandbox.Agent{Command: "echo other; sleep 1000", User: "root"}
	if _, err := w.Restart(t.Context(), string(box.ID), terminal.Restart{Agent: &agent}, "test"); err != nil {
		t.Fatal(err)
	}
	v.sees("other")
	stored, err := w.Get(t.Context(), string(box.ID))
	if err != nil || stored.Spec.Agent.Command != agent.Command {
		t.Errorf("%+v, %v", stored.Spec.Agent, err)
	}
}

func TestCrashLoopGuard(t *testing.T) {
	w := newWorld(t)
	box := w.make(sandbox.Spec{Agent: sandbox.Agent{Command: "exit 9"}, Session: sandbox.Session{RestartDelay: time.Millisecond}})
	hub, err := w.Terminal(t.Context(), string(box.ID), 0)
	if err != nil {
		t.Fatal(err)
	}
	v := view(t, hub)
	c := v.until("failed")
	if !strings.Contains(c.Reason, "3 times") || !strings.Contains(c.Reason, "status 9") {
		t.Error(c.Reason)
	}
	if i := hub.Info(); i.Running || i.Failed == "" || i.Restarts != 2 {
		t.Errorf("%+v", i)
	}
	// The next daemon does not begin again.
	w.again()
	if hub, err = w.Terminal(t.Context(), string(box.ID), 0); err != nil {
		t.Fatal(err)
	}
	v = view(t, hub)
	v.until("failed")
	if _, err := w.RestartTerminal(t.Context(), string(box.ID), 0, terminal.Restart{}, "test"); err != nil {
		t.Fatal(err)
	}
	v.until("started")
	v.until("failed")
}

// TestTerminalsOutliveTheDaemon: what is printed while there is none is there
// when the next one comes, and so is an end.
func TestTerminalsOutliveTheDaemon(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{Agent: sandbox.Agent{Command: "echo agent; exec sleep 1000"}}).ID)
	v := view(t, w.terminal(box, terminal.Request{Role: terminal.RoleShell}))
	v.types("PS1=; stty -echo; echo re''ady\r")
	v.sees("ready")
	v.types("mkfifo /tmp/f; read x < /tmp/f; seq 1 20000; echo last; exit 4\r")
	w.leave()
	w.open()
	// It ends while nobody serves it.
	if _, err := w.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.run(box, "echo go > /tmp/f")
	w.again()
	hub, err := w.Terminal(t.Context(), box, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := hub.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	h, err := hub.History()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	all, err := io.ReadAll(io.NewSectionReader(h, 0, h.Size()))
	if err != nil {
		t.Fatal(err)
	}
	checkSeq(t, all, 20000)
	v = view(t, hub)
	if c := v.until("exit"); c.Exit.ExitCode != 4 {
		t.Errorf("%+v", c.Exit)
	}
	agent, err := w.Terminal(t.Context(), box, 0)
	if err != nil {
		t.Fatal(err)
	}
	v = view(t, agent)
	v.sees("agent")
	if i := agent.Info(); !i.Running || i.PID == 0 || i.Restarts != 0 {
		t.Errorf("%+v", i)
	}
}

// checkSeq finds the numbers 1 to n, each once, in order, at the end of a log.
func checkSeq(t *testing.T, log []byte, n int) {
	t.Helper()
	var want bytes.Buffer
	for i := 1; i <= n; i++ {
		want.WriteString(strconv.Itoa(i) + "\r\n")
	}
	if !bytes.Contains(log, want.Bytes()) {
		t.Errorf("the log of %d bytes does not hold the %d numbers in a row; it ends with %.200q", len(log), n, log[max(0, len(log)-200):])
	}
}

func TestStopAndStartTheAgent(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{Agent: sandbox.Agent{Command: "trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 0.1; done"}}).ID)
	hub, err := w.Terminal(t.Context(), box, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := view(t, hub)
	v.sees("hello")
	if _, err := w.Stop(t.Context(), box, 20*time.Second, "test"); err != nil {
		t.Fatal(err)
	}
	v.sees("bye")
	for {
		if _, err := v.next(); err != nil {
			break
		}
	}
	h, err := w.TerminalLog(t.Context(), box, 0)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(io.NewSectionReader(h, 0, h.Size()))
	h.Close()
	if err != nil || !bytes.Contains(all, []byte("bye")) {
		t.Errorf("%q, %v", all, err)
	}
	if _, err := w.Start(t.Context(), box, "test"); err != nil {
		t.Fatal(err)
	}
	if hub, err = w.Terminal(t.Context(), box, 0); err != nil {
		t.Fatal(err)
	}
	view(t, hub).sees("hello")
}

func TestCommandOnTerminalDecidesAboutSandbox(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{}).ID)
	v := view(t, w.terminal(box, terminal.Request{Role: terminal.RoleExec, Command: "echo x; exit 2", OnExit: string(Remove)}))
	c := v.until("exit")
	if c.Kept == nil || *c.Kept || c.Exit.ExitCode != 2 {
		t.Errorf("%+v %+v", c, c.Exit)
	}
	v.sees("x\r\n")
	if _, err := w.Get(t.Context(), box); err == nil {
		t.Error("the sandbox is still there")
	}
}

func TestTerminalTimeLimit(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{}).ID)
	v := view(t, w.terminal(box, terminal.Request{Role: terminal.RoleExec, Command: "sleep 1000 & sleep 1000", Timeout: 50 * time.Millisecond}))
	if c := v.until("exit"); c.Exit.ExitCode != 124 || !c.Exit.TimedOut {
		t.Errorf("%+v", c.Exit)
	}
}

func TestTerminalRefusals(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{}).ID)
	ctx := t.Context()
	if list, err := w.Terminals(ctx, box); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	for name, f := range map[string]func() error{
		"not there": func() error { _, err := w.Terminal(ctx, box, 7); return err },
		"kill":      func() error { return w.KillTerminal(ctx, box, 7, "test") },
		"restart": func() error {
			_, err := w.RestartTerminal(ctx, box, 7, terminal.Restart{}, "test")
			return err
		},
		"log": func() error { _, err := w.TerminalLog(ctx, box, 7); return err },
	} {
		if err := f(); sandbox.CodeOf(err) != sandbox.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := w.OpenTerminal(ctx, box, terminal.Request{Role: terminal.RoleExec, Command: "no-such-program", Direct: true})
	if sandbox.CodeOf(err) != sandbox.Invalid {
		t.Error(err)
	}
	// Terminal 0 comes when it is asked for.
	if _, err := w.Terminal(ctx, box, 0); sandbox.CodeOf(err) != sandbox.NotFound {
		t.Error(err)
	}
	hub, made, err := w.OpenTerminal(ctx, box, terminal.Request{Role: terminal.RoleAgent, Cols: 70, Rows: 20})
	if err != nil || !made {
		t.Fatal(made, err)
	}
	if again, made, err := w.OpenTerminal(ctx, box, terminal.Request{Role: terminal.RoleAgent}); err != nil || made || again != hub {
		t.Error(made, err)
	}
	v := view(t, hub)
	v.types("echo $((40+2))\r")
	v.sees("42")
}

// TestKilledAgentStaysDown: also for the next daemon, until it is restarted.
func TestKilledAgentStaysDown(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{Agent: sandbox.Agent{Command: "sleep 1000 & echo up; wait"}}).ID)
	hub, err := w.Terminal(t.Context(), box, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := view(t, hub)
	v.sees("up")
	if err := w.KillTerminal(t.Context(), box, 0, "test"); err != nil {
		t.Fatal(err)
	}
	v.until("failed")
	if _, said := w.run(box, "ps -eo args"); strings.Contains(said, "sleep 1000") {
		t.Errorf("something of it is left:\n%s", said)
	}
	w.again()
	if hub, err = w.Terminal(t.Context(), box, 0); err != nil {
		t.Fatal(err)
	}
	v = view(t, hub)
	v.until("failed")
	if _, err := w.Restart(t.Context(), box, terminal.Restart{}, "test"); err != nil {
		t.Fatal(err)
	}
	v.said.Reset()
	v.sees("up")
	if i := hub.Info(); !i.Running || i.Failed != "" {
		t.Errorf("%+v", i)
	}
}

// TestRestartDelaySurvivesTheDaemon: the next daemon goes on waiting, and a
// restart by request does not wait.
func TestRestartDelaySurvivesTheDaemon(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{
		Agent:   sandbox.Agent{Command: "echo run; read x; exit 0"},
		Session: sandbox.Session{RestartDelay: time.Hour},
	}).ID)
	hub, err := w.Terminal(t.Context(), box, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := view(t, hub)
	v.sees("run")
	v.types("\r")
	v.until("restarting")
	w.again()
	if hub, err = w.Terminal(t.Context(), box, 0); err != nil {
		t.Fatal(err)
	}
	v = view(t, hub)
	if i := hub.Info(); i.Failed != "" || i.Restarts != 0 {
		t.Errorf("%+v", i)
	}
	if _, err := w.RestartTerminal(t.Context(), box, 0, terminal.Restart{}, "test"); err != nil {
		t.Fatal(err)
	}
	v.until("started")
	// A stop does not wait for the delay either.
	v.types("\r")
	v.until("restarting")
	if _, err := w.Stop(t.Context(), box, time.Second, "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Start(t.Context(), box, "test"); err != nil {
		t.Fatal(err)
	}
}

func TestAgentWithoutRestart(t *testing.T) {
	w := newWorld(t)
	no := false
	box := string(w.make(sandbox.Spec{Agent: sandbox.Agent{Command: "sh", Args: []string{"-c", "echo $0 $1; read x; exit 3", "a b", "c"}}, Session: sandbox.Session{AutoRestart: &no}}).ID)
	hub, err := w.Terminal(t.Context(), box, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := view(t, hub)
	v.sees("a b c")
	v.types("\r")
	if c := v.until("exit"); c.Exit.ExitCode != 3 {
		t.Errorf("%+v", c.Exit)
	}
	if list, err := w.Terminals(t.Context(), box); err != nil || len(list) != 1 || list[0].Info().Running {
		t.Errorf("%v, %v", list, err)
	}
}

// TestTerminalsOfAKilledSandbox: PID 1 is killed from outside. What the programs
// said until then is in the log.
func TestTerminalsOfAKilledSandbox(t *testing.T) {
	w := newWorld(t)
	box := w.make(sandbox.Spec{})
	hub := w.terminal(string(box.ID), terminal.Request{Role: terminal.RoleShell, Command: "echo words; exec sleep 1000"})
	v := view(t, hub)
	v.sees("words")
	if err := syscall.Kill(box.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	v.until("detached")
	w.logs.forget()
	h, err := w.TerminalLog(t.Context(), string(box.ID), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	all, err := io.ReadAll(io.NewSectionReader(h, 0, h.Size()))
	if err != nil || !bytes.Contains(all, []byte("words")) {
		t.Errorf("%q, %v", all, err)
	}
}

// TestOrdinaryUserOnTerminal: the terminal is theirs.
func TestOrdinaryUserOnTerminal(t *testing.T) {
	w := newWorld(t)
	if w.UIDs.Single() {
		t.Skip("needs more than one id")
	}
	box := string(w.make(sandbox.Spec{}).ID)
	v := view(t, w.terminal(box, terminal.Request{Role: terminal.RoleShell, User: "1234:99", Command: "stat -c '%u:%g:%a' $(tty); id -u; echo x >$(tty); exec sleep 1000"}))
	v.sees("1234:5:620\r\n1234\r\nx\r\n")
}

// TestManyOrdersAtOnce: restarts, kills and an end that meet do not hang.
func TestManyOrdersAtOnce(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{Agent: sandbox.Agent{Command: "sleep 0.05"}, Session: sandbox.Session{RestartDelay: time.Millisecond}}).ID)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			var err error
			if i%3 == 0 {
				err = w.KillTerminal(ctx, box, 0, "test")
			} else {
				_, err = w.RestartTerminal(ctx, box, 0, terminal.Restart{}, "test")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestCommandIsConcludedByTheNextDaemon: the client that comes back gets the rest
// of the output and the end, then the sandbox goes.
func TestCommandIsConcludedByTheNextDaemon(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{}).ID)
	v := view(t, w.terminal(box, terminal.Request{Role: terminal.RoleExec, Command: "echo begin; read x; echo more; exit 5", OnExit: string(Remove)}))
	v.sees("begin")
	v.types("\r")
	w.again()
	hub, err := w.Terminal(t.Context(), box, 1)
	if err != nil {
		t.Fatal(err)
	}
	v = view(t, hub)
	c := v.until("exit")
	if c.Exit.ExitCode != 5 || c.Kept == nil || *c.Kept {
		t.Errorf("%+v %+v", c, c.Exit)
	}
	v.sees("more")
	if _, err := w.Get(t.Context(), box); err == nil {
		t.Error("the sandbox is still there")
	}
}

func TestAgentHasASizeBeforeAnybodyLooks(t *testing.T) {
	w := newWorld(t)
	box := string(w.make(sandbox.Spec{Agent: sandbox.Agent{Command: "stty size; exec sleep 1000"}}).ID)
	hub, err := w.Terminal(t.Context(), box, 0)
	if err != nil {
		t.Fatal(err)
	}
	viewAs(t, hub, terminal.ClientOptions{ReadOnly: true}).sees("24 80")
}
