package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/launch"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
	"github.com/coop-dev/coop/internal/terminal/filter"
)

// seatNote is what PID 1 keeps of a program on a terminal for the next daemon.
type seatNote struct {
	Request  terminal.Request `json:"request"`
	At       time.Time        `json:"at"`
	Restarts int              `json:"restarts,omitempty"` // how often one was started again
	Quick    int              `json:"quick,omitempty"`    // how many before it ended too soon, in a row
}

// ptyOf is launch's hold on a terminal with the errors package terminal knows.
type ptyOf struct{ *launch.Terminal }

func (p ptyOf) Write(b []byte) (int, error) {
	n, err := p.Terminal.Write(b)
	if errors.Is(err, launch.ErrFull) {
		err = terminal.ErrFull
	}
	return n, err
}

// OpenTerminal starts a program on a new terminal. made is false when a live
// shell was found instead. RoleAgent asks for terminal 0, whose program the
// sandbox knows: one without an agent gets a shell there when somebody wants it.
func (e *Engine) OpenTerminal(ctx context.Context, ref string, r terminal.Request) (t *terminal.Terminal, made bool, err error) {
	l, err := e.find(ctx, ref)
	if err != nil {
		return nil, false, err
	}
	if r.Role == terminal.RoleAgent {
		s, made, err := e.startAgent(ctx, l, r.Cols, r.Rows)
		if err != nil {
			return nil, false, err
		}
		return s.hub, made, nil
	}
	if r.Reuse && r.Role == terminal.RoleShell {
		if s := liveShell(l); s != nil {
			return s.hub, false, nil
		}
	}
	s, err := e.openSeat(ctx, l, -1, r)
	if err != nil {
		return nil, false, err
	}
	return s.hub, true, nil
}

// liveShell finds a shell to join.
func liveShell(l *live) *seat {
	for _, s := range l.terminals.all() {
		if s.noted().Request.Role == terminal.RoleShell && !s.isOver() {
			return s
		}
	}
	return nil
}

// startAgent makes terminal 0 if there is none.
func (e *Engine) startAgent(ctx context.Context, l *live, cols, rows int) (s *seat, made bool, err error) {
	l.terminals.agent.Lock()
	defer l.terminals.agent.Unlock()
	if s := l.terminals.get(0); s != nil {
		return s, false, nil
	}
	if err := e.noteKilled(l.id, false); err != nil {
		return nil, false, err
	}
	r := agentRequest(l.spec)
	r.Cols, r.Rows = cols, rows
	s, err = e.openSeat(ctx, l, 0, r)
	return s, true, err
}

// agentRequest is what runs on terminal 0.
func agentRequest(s sandbox.Spec) terminal.Request {
	return terminal.Request{Role: terminal.RoleAgent, Command: s.Agent.Command, Args: s.Agent.Args, User: s.Agent.User}
}

// openSeat starts a program on a new terminal and serves it.
func (e *Engine) openSeat(ctx context.Context, l *live, number int, r terminal.Request) (*seat, error) {
	if !terminal.ValidSize(r.Cols, r.Rows) {
		r.Cols, r.Rows = 80, 24 // until somebody looks
	}
	n := seatNote{Request: r, At: time.Now().UTC()}
	spawn, err := terminalSpawn(l, n)
	if err != nil {
		return nil, err
	}
	number, err = l.terminals.reserve(number)
	if err != nil {
		return nil, err
	}
	var s *seat
	defer func() { l.terminals.enter(s) }()
	pty, err := l.init.OpenTerminal(ctx, number, launch.TerminalSize{Cols: r.Cols, Rows: r.Rows}, spawn)
	if err != nil {
		return nil, explainSpawn(Command{Command: shownCommand(r), User: r.User}, err)
	}
	made, err := e.takeSeat(l, pty, n, false)
	if err != nil {
		e.abandonTerminal(l.id, pty)
		return nil, diskError(err)
	}
	s = made
	s.hub.Started(shownCommand(r), pty.Program().PID)
	go e.watchSeat(l.terminals, s)
	return s, nil
}

// abandonTerminal ends a program nobody can watch.
func (e *Engine) abandonTerminal(id sandbox.ID, t *launch.Terminal) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	err := t.Program().Kill(ctx)
	if err == nil {
		_, err = t.Program().Wait(ctx)
	}
	if err == nil {
		err = t.Forget(ctx)
	}
	if err != nil && !errors.Is(err, launch.ErrLost) {
		e.Log.Error("end terminal", "sandbox", id, "terminal", t.Number, "err", err)
		_ = t.Close() // at least our part of it
	}
}

// holdTime is how long the output of a command waits for its client.
const holdTime = 10 * time.Second

// takeSeat opens the log of a terminal and begins to serve it. found says that
// its program was started by an earlier daemon.
func (e *Engine) takeSeat(l *live, pty *launch.Terminal, n seatNote, found bool) (*seat, error) {
	block, err := filter.ParseAll(l.spec.Session.Block)
	if err != nil {
		return nil, err
	}
	cfg := terminal.Config{
		Number: pty.Number, Role: n.Request.Role, Command: shownCommand(n.Request), Dir: terminal.Dir(e.terminalsDir(l.id), pty.Number),
		Pty: ptyOf{pty}, Restarts: n.Restarts, Cols: n.Request.Cols, Rows: n.Request.Rows,
		Scrollback: l.spec.Session.Scrollback(), Log: e.Log.With("sandbox", l.id),
	}
	if n.Request.Role == terminal.RoleAgent {
		cfg.CtrlCDebounce, cfg.Block = l.spec.Session.Debounce(), block
	}
	if found { // also if it has ended: its last output may still have to be read
		cfg.PID = max(pty.Program().PID, 1)
	}
	// The client of a command whose sandbox goes with it gets the time to come
	// back after a daemon's death.
	if n.Request.Role == terminal.RoleExec && (!found || OnExit(n.Request.OnExit) != Keep && n.Request.OnExit != "") {
		cfg.Hold = holdTime
	}
	hub, err := terminal.Open(cfg)
	if err != nil {
		return nil, err
	}
	s := &seat{sandbox: l.id, number: pty.Number, pty: pty, hub: hub, note: n, orders: make(chan order), retired: make(chan struct{})}
	s.over, s.close = context.WithCancelCause(context.Background())
	return s, nil
}

// terminalSpawn works out what PID 1 shall start on a terminal.
func terminalSpawn(l *live, n seatNote) (initproto.Spawn, error) {
	var s initproto.Spawn
	c := Command{
		Command: shownCommand(n.Request), Args: n.Request.Args, WorkingDir: n.Request.WorkingDir,
		User: n.Request.User, Env: n.Request.Env, Timeout: n.Request.Timeout,
	}
	if err := c.Validate(); err != nil {
		return s, err
	}
	user := n.Request.User
	if user == "" {
		user = l.spec.Agent.User
	}
	note, err := json.Marshal(n)
	if err != nil {
		return s, err
	}
	argv, env := terminalArgv(n.Request), terminalEnvironment(l, n.Request.Env)
	return initproto.Spawn{
		Exec: newExecID(), Argv: argv, Login: n.Request.Command == "", Env: env,
		Dir: workingDir(l, n.Request.WorkingDir), User: user, Note: string(note),
	}, checkSize(append(argv, env...))
}

// terminalArgv is the program and its arguments. The agent goes through the
// shell in any case: one that is not installed then says so on its own terminal,
// where people look, and the crash-loop guard ends it.
func terminalArgv(r terminal.Request) []string {
	switch {
	case r.Command == "":
		return []string{"/bin/sh"} // PID 1 knows the user's own
	case r.Role == terminal.RoleAgent && len(r.Args) > 0:
		return append([]string{"/bin/sh", "-c", `exec "$0" "$@"`, r.Command}, r.Args...)
	case r.Direct:
		return append([]string{r.Command}, r.Args...)
	}
	return []string{"/bin/sh", "-c", r.Command}
}

// terminalEnvironment is environment for programs that will draw.
func terminalEnvironment(l *live, extra map[string]string) []string {
	env := environment(l, extra)
	for _, kv := range env {
		if strings.HasPrefix(kv, "COLORTERM=") {
			return env
		}
	}
	return append(env, "COLORTERM=truecolor")
}

// shownCommand is a request's command for people.
func shownCommand(r terminal.Request) string {
	if r.Command == "" {
		return "shell"
	}
	return strings.Join(append([]string{r.Command}, r.Args...), " ")
}
