package server

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/changes/patch"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

// fakeEngine knows one sandbox, "box", whose commands are real processes of
// the host and whose files are the host's.
type fakeEngine struct {
	mu       sync.Mutex
	calls    []string // what reached the engine
	spec     sandbox.Spec
	options  engine.CreateOptions
	filter   engine.Filter
	grace    time.Duration
	replayed bool
	err      error // of every call
	panics   bool
	approval engine.Approval
	dropped  []string
	changes  []changes.Change
	shelf    string         // where named workspaces are
	execs    chan *fakeExec // every exec that was started
}

func newFakeEngine() *fakeEngine { return &fakeEngine{execs: make(chan *fakeExec, 64)} }

func (e *fakeEngine) called(what, ref string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, what)
	if e.panics {
		panic("boom")
	}
	if e.err != nil {
		return e.err
	}
	if ref != "" && ref != "box" {
		return sandbox.Errorf(sandbox.NotFound, "no sandbox %q", ref)
	}
	return nil
}

func (e *fakeEngine) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.calls)
}

func exampleView() engine.View {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	spec := sandbox.Spec{
		Name: "box", Env: map[string]string{"TOKEN": "s3cret", "A": "b"}, Labels: map[string]string{"team": "x"},
		Workspace: sandbox.Workspace{Source: "/src", Repo: true}, Metadata: map[string]any{"n": 1},
		Limits: sandbox.Limits{MemoryBytes: 64 << 20, ExecTimeout: time.Minute},
	}.WithDefaults()
	return engine.View{
		Record: sandbox.Record{
			ID: "0123456789abcdef01234567", Spec: spec, Status: sandbox.Running, ReviewStatus: sandbox.ReviewPending,
			Driver: "overlay", Degraded: []sandbox.Degraded{{Fence: "limits", Reason: "no cgroup"}},
			Failure: &sandbox.Failure{Step: "mount", Message: "no"}, CreatedAt: at, UpdatedAt: at, StoppedAt: &at, Version: 3,
		},
		PID: 42, MergedDir: "/merged",
	}
}

func (e *fakeEngine) Create(_ context.Context, spec sandbox.Spec, o engine.CreateOptions) (engine.View, bool, error) {
	e.spec, e.options = spec, o
	v := exampleView()
	v.Spec = spec
	return v, e.replayed, e.called("create", "")
}

func (e *fakeEngine) Get(_ context.Context, ref string) (engine.View, error) {
	return exampleView(), e.called("get", ref)
}

func (e *fakeEngine) List(_ context.Context, f engine.Filter) (engine.Page, error) {
	e.filter = f
	return engine.Page{Views: []engine.View{exampleView()}, Total: 7, Next: "abc"}, e.called("list", "")
}

func (e *fakeEngine) Delete(_ context.Context, ref, _ string) error { return e.called("delete", ref) }

func (e *fakeEngine) Stop(_ context.Context, ref string, grace time.Duration, _ string) (engine.View, error) {
	e.grace = grace
	return exampleView(), e.called("stop", ref)
}

func (e *fakeEngine) Start(_ context.Context, ref, _ string) (engine.View, error) {
	return exampleView(), e.called("start", ref)
}

func (e *fakeEngine) Processes(_ context.Context, ref string) ([]engine.Process, error) {
	return []engine.Process{{PID: 7, PPID: 1, State: "S", Command: "sleep", CPU: time.Second, Age: time.Minute, Exec: "e1"}}, e.called("processes", ref)
}

func (e *fakeEngine) Signal(_ context.Context, ref string, pid int, signal string) error {
	return e.called("signal "+strconv.Itoa(pid)+" "+signal, ref)
}

func (e *fakeEngine) OpenFile(_ context.Context, ref, path string, flags int, mode uint32) (*os.File, error) {
	if err := e.called("open", ref); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flags, os.FileMode(mode))
	if errors.Is(err, os.ErrNotExist) {
		return nil, sandbox.Errorf(sandbox.NotFound, "open file: %w", err)
	}
	return f, err
}

func (e *fakeEngine) Audit(_ context.Context, ref string, limit int) ([]sandbox.AuditEntry, error) {
	return []sandbox.AuditEntry{{Seq: 1, Sandbox: "abcd", Event: "create", To: sandbox.Running, Detail: strconv.Itoa(limit)}}, e.called("audit", ref)
}

func (e *fakeEngine) Diff(_ context.Context, ref string, q engine.DiffQuery, each func(changes.Change, patch.File) error) error {
	if err := e.called("diff "+strings.Join(q.Paths, ","), ref); err != nil {
		return err
	}
	for _, c := range e.changes {
		f := patch.File{OldPath: c.Path, NewPath: c.Path, NewMode: patch.Regular, New: []byte("1\n\xff2\n")}
		if q.Text && c.Pending() && c.New.Mode.IsRegular() {
			f.Hunks = patch.Diff(nil, f.New)
		}
		if err := each(c, f); err != nil {
			return err
		}
	}
	return nil
}

func (e *fakeEngine) Health(context.Context) (engine.Health, error) {
	return engine.Health{Sandboxes: 2, Running: 1, Driver: "overlayfs"}, e.called("health", "")
}

func (e *fakeEngine) Exec(_ context.Context, ref string, c engine.Command) (Exec, error) {
	if err := e.called("exec", ref); err != nil {
		return nil, err
	}
	ex, err := startFakeExec(c)
	if err != nil {
		return nil, sandbox.Errorf(sandbox.Invalid, "start: %w", err)
	}
	e.execs <- ex
	return ex, nil
}

// fakeExec is a process in a process group of its own, which stands for the
// tree. Its working directory and user are the test's.
type fakeExec struct {
	cmd     *exec.Cmd
	command engine.Command
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	begun   time.Time
	ended   chan struct{}
	outcome engine.Outcome

	killed   chan struct{} // closed by the first Kill
	finished chan struct{} // closed by Finish; a second one panics
	once     sync.Once
	wg       sync.WaitGroup
}

func startFakeExec(c engine.Command) (*fakeExec, error) {
	cmd := exec.Command("/bin/sh", "-c", c.Command)
	if c.Direct {
		cmd = exec.Command(c.Command, c.Args...)
	}
	for k, v := range c.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	x := &fakeExec{cmd: cmd, command: c, begun: time.Now(), ended: make(chan struct{}), killed: make(chan struct{}), finished: make(chan struct{})}
	var child [3]*os.File
	x.stdout, child[1] = mustPipe()
	x.stderr, child[2] = mustPipe()
	if c.Stdin {
		child[0], x.stdin = mustPipe()
		cmd.Stdin = child[0]
	}
	cmd.Stdout, cmd.Stderr = child[1], child[2]
	err := cmd.Start()
	for _, f := range child {
		_ = f.Close() // a nil file says so
	}
	if err != nil {
		x.close()
		return nil, err
	}
	x.wg.Go(x.reap)
	return x, nil
}

func mustPipe() (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	return r, w
}

// reap plays PID 1: it waits for the main process and keeps the time.
func (x *fakeExec) reap() {
	var timedOut atomic.Bool
	if x.command.Timeout > 0 {
		t := time.AfterFunc(x.command.Timeout, func() {
			timedOut.Store(true)
			_ = syscall.Kill(-x.cmd.Process.Pid, syscall.SIGKILL)
		})
		defer t.Stop()
	}
	state, err := x.cmd.Process.Wait()
	if err != nil {
		panic(err)
	}
	x.outcome = engine.Outcome{Code: state.ExitCode(), Duration: time.Since(x.begun), TimedOut: timedOut.Load()}
	if ws := state.Sys().(syscall.WaitStatus); ws.Signaled() {
		x.outcome.Code, x.outcome.Signal = 128+int(ws.Signal()), "SIG"+signalNames()[ws.Signal()-1]
	}
	close(x.ended)
}

func (x *fakeExec) ID() string       { return "e" + strconv.Itoa(x.cmd.Process.Pid) }
func (x *fakeExec) Stdin() *os.File  { return x.stdin }
func (x *fakeExec) Stdout() *os.File { return x.stdout }
func (x *fakeExec) Stderr() *os.File { return x.stderr }

func (x *fakeExec) CloseStdin() error { return x.stdin.Close() }

func (x *fakeExec) Signal(name string) error {
	n := slices.Index(signalNames(), strings.TrimPrefix(name, "SIG")) + 1
	return syscall.Kill(x.cmd.Process.Pid, syscall.Signal(n))
}

func (x *fakeExec) Kill() {
	x.once.Do(func() { close(x.killed) })
	_ = syscall.Kill(-x.cmd.Process.Pid, syscall.SIGKILL)
}

func (x *fakeExec) Wait(ctx context.Context) (engine.Outcome, error) {
	select {
	case <-x.ended:
		return x.outcome, nil
	case <-ctx.Done():
		return engine.Outcome{}, ctx.Err()
	}
}

func (x *fakeExec) Finish(context.Context) (bool, error) {
	close(x.finished)
	x.close()
	return x.command.OnExit != engine.Remove, nil
}

func (x *fakeExec) close() {
	for _, f := range []*os.File{x.stdin, x.stdout, x.stderr} {
		_ = f.Close() // a nil file says so
	}
}
