package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/launch"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Exec is one command that was started.
type Exec struct {
	e       *Engine
	x       *launch.Exec
	sandbox sandbox.ID
	onExit  OnExit
	started time.Time
	timer   *time.Timer
	expired chan struct{} // closed when its time is up
	killed  chan struct{} // closed when nothing of it is left after that
}

// note is what PID 1 keeps of an exec for the next daemon.
type note struct {
	OnExit   OnExit    `json:"onExit,omitempty"`
	Attached bool      `json:"attached,omitempty"`
	At       time.Time `json:"at"`
}

// Exec starts a command. ctx bounds the starting only.
func (e *Engine) Exec(ctx context.Context, ref string, c Command) (*Exec, error) {
	l, err := e.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	c.Timeout = l.timeLimit(c.Timeout)
	spawn, err := spawnRequest(l, c)
	if err != nil {
		return nil, err
	}
	x, err := l.init.Spawn(ctx, spawn)
	if err != nil {
		return nil, explainSpawn(c, err)
	}
	return e.track(l.id, x, c), nil
}

// track starts the clock of a command.
func (e *Engine) track(id sandbox.ID, x *launch.Exec, c Command) *Exec {
	out := &Exec{e: e, x: x, sandbox: id, onExit: c.OnExit, started: time.Now(), expired: make(chan struct{}), killed: make(chan struct{})}
	if c.Timeout > 0 {
		out.timer = time.AfterFunc(c.Timeout, out.expire)
	}
	return out
}

// spawnRequest works out what PID 1 shall start.
func spawnRequest(l *live, c Command) (initproto.Spawn, error) {
	var s initproto.Spawn
	if err := c.Validate(); err != nil {
		return s, err
	}
	user := c.User
	if user == "" {
		user = l.spec.Agent.User
	}
	argv := append([]string{c.Command}, c.Args...)
	if !c.Direct {
		argv = []string{"/bin/sh", "-c", c.Command}
	}
	n, err := json.Marshal(note{OnExit: c.OnExit, Attached: c.Attached, At: time.Now().UTC()})
	if err != nil {
		return s, err
	}
	env := environment(l, c.Env)
	return initproto.Spawn{
		Exec: newExecID(), Argv: argv, Env: env, Dir: workingDir(l, c.WorkingDir),
		User: user, Stdin: c.Stdin, Note: string(n),
	}, checkSize(append(argv, env...))
}

func newExecID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}

// workingDir is where a command starts: the workspace, or a path in it or from
// the root.
func workingDir(l *live, dir string) string {
	if path.IsAbs(dir) {
		return path.Clean(dir)
	}
	return path.Join(l.home(), dir)
}

// environment is built from nothing: what the host's environment holds is its
// own affair. HOME, USER and LOGNAME are added by PID 1, who knows the user.
func environment(l *live, extra map[string]string) []string {
	vars := map[string]string{
		"PATH":           "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"TERM":           "xterm-256color",
		"LANG":           "C.UTF-8",
		"IS_SANDBOX":     "1",
		"COOP_SESSION":   l.spec.Name,
		"COOP_WORKSPACE": l.spec.Workspace.Path,
		"COOP_CREATED":   l.made.UTC().Format(time.RFC3339),
	}
	for _, m := range []map[string]string{l.imageEnv(), l.spec.Env, extra} {
		for k, v := range m {
			vars[k] = v
		}
	}
	env := make([]string, 0, len(vars))
	for k, v := range vars {
		env = append(env, k+"="+v)
	}
	return env
}

// explainSpawn turns what the kernel said into what the person needs to know.
// exitCode is what a shell would exit with.
func explainSpawn(c Command, err error) error {
	var step *initproto.Error
	if !errors.As(err, &step) {
		return err
	}
	switch {
	case step.Step == "chdir":
		return sandbox.Errorf(sandbox.Invalid, "working directory %s: %w", step.Path, syscall.Errno(step.Errno)).
			WithHint("it must be a directory inside the sandbox").WithDetail("exitCode", 126)
	case step.Step == "user":
		return sandbox.Errorf(sandbox.Invalid, "no user %q in the sandbox", step.Path).
			WithHint("name a user of the sandbox's /etc/passwd, or a uid").WithDetail("exitCode", 126)
	case step.Errno == int(syscall.ENOENT):
		return sandbox.Errorf(sandbox.Invalid, "%s: not found in the sandbox", c.Command).
			WithHint("is it installed for the whole system, and does its interpreter exist?").WithDetail("exitCode", 127)
	case step.Errno == int(syscall.E2BIG):
		return sandbox.Errorf(sandbox.TooLarge, "%s: %w", c.Command, syscall.E2BIG).
			WithHint("write it to a file in the sandbox, or pass it on stdin").WithDetail("exitCode", 126)
	case step.Errno == int(syscall.EINVAL) && c.User != "":
		return sandbox.Errorf(sandbox.Unavailable, "user %s has no id here: %w", c.User, syscall.EINVAL).
			WithHint("without newuidmap and a subuid range a sandbox has one id only; install uidmap").WithDetail("exitCode", 126)
	}
	return sandbox.Errorf(sandbox.Invalid, "%s: cannot be executed: %w", c.Command, syscall.Errno(step.Errno)).
		WithHint("is it an executable file for this machine?").WithDetail("exitCode", 126)
}

// ID names the exec.
func (x *Exec) ID() string { return x.x.ID }

// Stdin is nil unless it was asked for.
func (x *Exec) Stdin() *os.File { return x.x.Stdin }

// Stdout is what the program writes.
func (x *Exec) Stdout() *os.File { return x.x.Stdout }

// Stderr is what it complains.
func (x *Exec) Stderr() *os.File { return x.x.Stderr }

// CloseStdin ends its input.
func (x *Exec) CloseStdin() error { return x.x.CloseStdin(context.Background()) }

// Signal reaches the program's process group.
func (x *Exec) Signal(name string) error {
	n, err := SignalNumber(name)
	if err != nil {
		return err
	}
	err = x.x.Signal(context.Background(), n)
	if errors.Is(err, syscall.ESRCH) {
		return nil // it has ended
	}
	return err
}

// Kill ends the whole tree.
func (x *Exec) Kill() {
	if err := x.x.Kill(context.Background()); err != nil && !errors.Is(err, launch.ErrLost) {
		x.e.Log.Warn("kill exec", "sandbox", x.sandbox, "err", err)
	}
}

func (x *Exec) expire() {
	select {
	case <-x.x.Done():
		return // it ended just in time
	default:
	}
	close(x.expired)
	x.Kill()
	close(x.killed)
}

// Wait returns when the main process has ended.
func (x *Exec) Wait(ctx context.Context) (Outcome, error) {
	s, err := x.x.Wait(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if x.timer != nil {
		x.timer.Stop()
	}
	out := Outcome{Code: s.Code, Duration: time.Since(x.started)}
	if s.Signal != 0 {
		out.Signal = signalName(s.Signal)
	}
	select {
	case <-x.expired:
		select { // the main process ends first, the rest of its tree after it
		case <-x.killed:
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		}
		out.TimedOut, out.Code = true, 124
	default:
	}
	return out, nil
}

// Finish lets go of the command and carries out OnExit.
func (x *Exec) Finish(ctx context.Context) (kept bool, err error) {
	drain(x.x.Stdout)
	drain(x.x.Stderr)
	x.x.Release()
	ctx = context.WithoutCancel(ctx)
	return x.e.conclude(ctx, x.sandbox, x.onExit)
}

// drain keeps reading for what the command left in the background and still
// holds the pipe: closing it would kill that with SIGPIPE at its next word.
func drain(f *os.File) {
	if fdpass.HungUp(f) {
		return
	}
	dup, err := fdpass.Dup(f)
	if err != nil {
		return
	}
	go func() {
		defer dup.Close()
		_, _ = io.Copy(io.Discard, dup) // until the last holder is gone
	}()
}
