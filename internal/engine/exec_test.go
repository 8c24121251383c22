package engine

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/sandbox"
)

func TestCommandValidate(t *testing.T) {
	long := strings.Repeat("x", sandbox.MaxArgLength)
	for name, c := range map[string]struct {
		command Command
		code    sandbox.Code
	}{
		"nothing":             {Command{}, sandbox.Invalid},
		"NUL in the command":  {Command{Command: "a\x00b"}, sandbox.Invalid},
		"NUL in an argument":  {Command{Command: "a", Args: []string{"b", "\x00"}, Direct: true}, sandbox.Invalid},
		"NUL in the place":    {Command{Command: "a", WorkingDir: "/\x00"}, sandbox.Invalid},
		"a negative limit":    {Command{Command: "a", Timeout: -1}, sandbox.Invalid},
		"an illegal user":     {Command{Command: "a", User: "A B"}, sandbox.Invalid},
		"an illegal variable": {Command{Command: "a", Env: map[string]string{"A=": ""}}, sandbox.Invalid},
		"a long argument":     {Command{Command: "a", Args: []string{long}}, sandbox.TooLarge},
		"a long command":      {Command{Command: long}, sandbox.TooLarge},
		"many arguments":      {Command{Command: "a", Args: make([]string, sandbox.MaxArgBytes/9+1)}, sandbox.TooLarge},
	} {
		err := c.command.Validate()
		if err == nil || sandbox.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []Command{
		{Command: "true"},
		{Command: long[1:], Direct: true, User: "1000:1000", Env: map[string]string{"A": "b"}, Timeout: time.Second, WorkingDir: "../x"},
	} {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestSignalNumber(t *testing.T) {
	for name, want := range map[string]int{"TERM": 15, "SIGTERM": 15, "term": 15, "sigkill": 9, "9": 9, "64": 64, "34": 34, "1": 1} {
		if n, err := SignalNumber(name); err != nil || n != want {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	for _, name := range []string{"", "0", "-1", "65", "NONSENSE", "SIG", "TERM ", "1e1"} {
		if n, err := SignalNumber(name); sandbox.CodeOf(err) != sandbox.Invalid || err == nil {
			t.Errorf("%q: %d, %v", name, n, err)
		}
	}
}

func TestExplainSpawn(t *testing.T) {
	for name, c := range map[string]struct {
		step *initproto.Error
		user string
		code sandbox.Code
		exit int
	}{
		"not found":      {&initproto.Error{Step: "exec", Errno: int(syscall.ENOENT)}, "", sandbox.Invalid, 127},
		"not executable": {&initproto.Error{Step: "exec", Errno: int(syscall.EACCES)}, "", sandbox.Invalid, 126},
		"too long":       {&initproto.Error{Step: "exec", Errno: int(syscall.E2BIG)}, "", sandbox.TooLarge, 126},
		"no directory":   {&initproto.Error{Step: "chdir", Errno: int(syscall.ENOENT), Path: "/x"}, "", sandbox.Invalid, 126},
		"no user":        {&initproto.Error{Step: "user", Errno: int(syscall.ENOENT), Path: "x"}, "x", sandbox.Invalid, 126},
		"no id":          {&initproto.Error{Step: "exec", Errno: int(syscall.EINVAL)}, "1000", sandbox.Unavailable, 126},
	} {
		var e *sandbox.Error
		err := explainSpawn(Command{Command: "cmd", User: c.user}, c.step)
		if !errors.As(err, &e) || e.Code != c.code || e.Details["exitCode"] != c.exit || e.Hint == "" {
			t.Errorf("%s: %+v", name, err)
		}
	}
	if err := explainSpawn(Command{}, context.Canceled); err != context.Canceled {
		t.Error(err)
	}
}

func TestSpawnRequest(t *testing.T) {
	t.Setenv("COOP_TEST_SECRET", "the host's own")
	l := &live{spec: sandbox.Spec{
		Name: "box", Env: map[string]string{"A": "spec", "B": "spec"},
		Workspace: sandbox.Workspace{Path: "/work"}, Agent: sandbox.Agent{User: "me"},
	}}
	s, err := spawnRequest(l, Command{Command: "echo hi", Env: map[string]string{"B": "exec", "PATH": "/mine"}, WorkingDir: "sub"})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(s.Argv, " ") != "/bin/sh -c echo hi" || s.Dir != "/work/sub" || s.User != "me" || s.Exec == "" || s.Stdin {
		t.Errorf("%+v", s)
	}
	env := strings.Join(s.Env, "\n") + "\n"
	for _, want := range []string{"A=spec\n", "B=exec\n", "PATH=/mine\n", "COOP_SESSION=box\n", "IS_SANDBOX=1\n", "COOP_WORKSPACE=/work\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("no %q in %q", want, env)
		}
	}
	if strings.Contains(env, "HOME=") || strings.Contains(env, "COOP_TEST_SECRET") {
		t.Errorf("the host's environment: %q", env)
	}
	s, err = spawnRequest(l, Command{Command: "/x", Args: []string{"a b"}, Direct: true, WorkingDir: "/a/../b", User: "0"})
	if err != nil || len(s.Argv) != 2 || s.Argv[1] != "a b" || s.Dir != "/b" || s.User != "0" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestExec is one sandbox and many commands.
func TestExec(t *testing.T) {
	w := newWorld(t)
	w.make(sandbox.Spec{Name: "box", Env: map[string]string{"FROM_SPEC": "yes"}})
	for name, c := range map[string]struct {
		command Command
		code    int
		said    string
	}{
		"status":      {Command{Command: "exit 7"}, 7, ""},
		"both":        {Command{Command: "echo out; echo err >&2"}, 0, "out\nerr"},
		"direct":      {Command{Command: "echo", Args: []string{"$HOME", "a b"}, Direct: true}, 0, "$HOME a b"},
		"environment": {Command{Command: "echo $FROM_SPEC $X $HOME $USER", Env: map[string]string{"X": "ä"}}, 0, "yes ä /root root"},
		"place":       {Command{Command: "pwd", WorkingDir: "/tmp"}, 0, "/tmp"},
		"workspace":   {Command{Command: "pwd"}, 0, "/workspace"},
		"killed":      {Command{Command: "kill -KILL $$"}, 137, ""},
		"no stdin":    {Command{Command: "cat; echo end"}, 0, "end"},
		"PID 1":       {Command{Command: "kill -KILL 1; echo alive"}, 0, "alive"},
	} {
		t.Run(name, func(t *testing.T) {
			out, said := w.exec("box", c.command)
			if out.Code != c.code || said != c.said || out.TimedOut {
				t.Errorf("%+v: %q", out, said)
			}
			if (out.Signal != "") != (c.code == 137) {
				t.Errorf("signal %q", out.Signal)
			}
		})
	}
	for name, c := range map[string]struct {
		command Command
		exit    any
	}{
		"not found":      {Command{Command: "/nonexistent", Direct: true}, 127},
		"not executable": {Command{Command: "/etc/hostname", Direct: true}, 126},
		"no directory":   {Command{Command: "true", WorkingDir: "/none"}, 126},
		"no user":        {Command{Command: "true", User: "nobody-has-this"}, 126},
		"empty":          {Command{}, nil},
	} {
		x, err := w.Exec(t.Context(), "box", c.command)
		var e *sandbox.Error
		if x != nil || !errors.As(err, &e) || e.Details["exitCode"] != c.exit {
			t.Errorf("%s: %+v", name, err)
		}
	}
	if _, err := w.Exec(t.Context(), "nobody", Command{Command: "true"}); sandbox.CodeOf(err) != sandbox.NotFound {
		t.Error(err)
	}
}

func TestStdinAndSignals(t *testing.T) {
	w := newWorld(t)
	w.make(sandbox.Spec{Name: "box"})
	x, err := w.Exec(t.Context(), "box", Command{Command: "cat", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(x.Stdin(), "words"); err != nil {
		t.Fatal(err)
	}
	if err := x.CloseStdin(); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(x.Stdout()); err != nil || string(said) != "words" {
		t.Errorf("%q, %v", said, err)
	}
	if out, err := x.Wait(t.Context()); err != nil || out.Code != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if err := x.Signal("TERM"); err != nil {
		t.Errorf("a signal to one that has ended: %v", err)
	}
	if kept, err := x.Finish(t.Context()); err != nil || !kept {
		t.Error(kept, err)
	}
	x, err = w.Exec(t.Context(), "box", Command{Command: "cat", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Signal("NONSENSE"); sandbox.CodeOf(err) != sandbox.Invalid {
		t.Error(err)
	}
	if err := x.Signal("HUP"); err != nil {
		t.Error(err)
	}
	if out, err := x.Wait(t.Context()); err != nil || out.Signal != "SIGHUP" || out.Code != 129 {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := x.Finish(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTimeLimit: the whole tree is killed, also what has left the session.
func TestTimeLimit(t *testing.T) {
	w := newWorld(t)
	w.make(sandbox.Spec{Name: "box"})
	out, _ := w.exec("box", Command{Command: "setsid sh -c 'trap \"\" TERM HUP; sleep 600' & sleep 600", Timeout: 200 * time.Millisecond})
	if !out.TimedOut || out.Code != 124 {
		t.Errorf("%+v", out)
	}
	// Reading to the end above says that nobody holds the pipe any more.
	list, err := w.Processes(t.Context(), "box")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		t.Errorf("%+v is left", p)
	}
}

func TestInside(t *testing.T) {
	w := newWorld(t)
	w.make(sandbox.Spec{Name: "box"})
	x, err := w.Exec(t.Context(), "box", Command{Command: "cat", Args: []string{"-"}, Direct: true, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.Processes(t.Context(), "box")
	if err != nil || len(list) != 1 || list[0].Exec != x.ID() || list[0].Command != "cat -" || list[0].PPID != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, pid := range []int{-1, 0, 1} {
		if err := w.Signal(t.Context(), "box", pid, "KILL"); sandbox.CodeOf(err) != sandbox.Denied {
			t.Errorf("pid %d: %v", pid, err)
		}
	}
	if err := w.Signal(t.Context(), "box", 30000, "TERM"); sandbox.CodeOf(err) != sandbox.NotFound {
		t.Error(err)
	}
	if err := w.Signal(t.Context(), "box", list[0].PID, "KILL"); err != nil {
		t.Error(err)
	}
	if out, err := x.Wait(t.Context()); err != nil || out.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := x.Finish(t.Context()); err != nil {
		t.Error(err)
	}
	f, err := w.OpenFile(t.Context(), "box", "new", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("text"); err != nil {
		t.Error(err)
	}
	f.Close()
	if _, said := w.run("box", "cat /workspace/new"); said != "text" {
		t.Errorf("%q", said)
	}
	for p, want := range map[string]sandbox.Code{
		"none": sandbox.NotFound, "new/below": sandbox.NotFound, "": sandbox.Invalid, "a\x00": sandbox.Invalid,
		"/proc/self/exe": sandbox.Denied, "/proc/1/root/etc": sandbox.Denied,
	} {
		if f, err := w.OpenFile(t.Context(), "box", p, os.O_RDONLY, 0); err == nil || sandbox.CodeOf(err) != want {
			t.Errorf("%q: %v, %v", p, f, err)
		}
	}
}

// TestOnExit: what becomes of a sandbox of `coop run`.
func TestOnExit(t *testing.T) {
	w := newWorld(t)
	dir := project(t)
	for _, c := range []struct {
		script string
		on     OnExit
		kept   bool
	}{
		{"true", Keep, true},
		{"echo x >new", Remove, false},
		{"cat file", RemoveIfUnchanged, false},
		{"cp file f; cat f >file; rm f", RemoveIfUnchanged, false}, // written back
		{"echo x >file", RemoveIfUnchanged, true},
		{"rm file", RemoveIfUnchanged, true},
	} {
		v := w.make(sandbox.Spec{Workspace: sandbox.Workspace{Source: dir}})
		x, err := w.Exec(t.Context(), string(v.ID), Command{Command: c.script, OnExit: c.on})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := x.Wait(t.Context()); err != nil || out.Code != 0 {
			t.Errorf("%s: %+v, %v", c.script, out, err)
		}
		kept, err := x.Finish(t.Context())
		if err != nil || kept != c.kept {
			t.Errorf("%s, %s: kept %v, %v", c.script, c.on, kept, err)
		}
		if _, err := w.Get(t.Context(), string(v.ID)); (err == nil) != c.kept {
			t.Errorf("%s, %s: %v", c.script, c.on, err)
		}
	}
}
