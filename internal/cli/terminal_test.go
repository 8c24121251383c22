package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

func withTerminals(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.daemon.Add(sandboxNamed("box"))
	w.daemon.Terminals.List = []api.Terminal{
		{Number: 0, Role: api.RoleAgent, Command: "claude", PID: 12, Cols: 80, Rows: 24, Clients: 2, Running: true, Title: "work\x1b"},
		{Number: 3, Role: api.RoleShell, Command: "bash", Cols: 100, Rows: 30, ExitCode: new(int)},
	}
	return w
}

func TestTerminalLs(t *testing.T) {
	w := withTerminals(t)
	const table = "NUMBER  ROLE   PID  SIZE    CLIENTS  STATUS        COMMAND  TITLE\n" +
		"0       agent  12   80x24   2        running       claude   work\\x1b\n" +
		"3       shell  -    100x30  0        ended with 0  bash     -\n"
	w.want(t, 0, table, "", "terminal", "ls", "box")
	w.want(t, 0, table, "", "-s", "box", "terminal", "ls")
	w.want(t, 0, "0\n3\n", "", "-q", "terminal", "ls", "box")
	if status, stdout, _ := w.coop("--json", "terminal", "ls", "box"); status != 0 || !strings.Contains(stdout, `"role": "shell"`) {
		t.Errorf("%d %q", status, stdout)
	}
}

func TestTerminalStatus(t *testing.T) {
	one := 1
	for want, terminal := range map[string]api.Terminal{
		"running":             {Running: true, ExitCode: &one},
		"running, 2 restarts": {Running: true, Restarts: 2},
		"failed: too often":   {Failed: "too often", ExitCode: &one},
		"ended by SIGKILL":    {Signal: "SIGKILL", ExitCode: &one},
		"ended with 1":        {ExitCode: &one},
		"ended":               {},
	} {
		if got := terminalStatus(terminal); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTerminalVerbs(t *testing.T) {
	w := withTerminals(t)
	w.daemon.Terminals.Log = "one\x1b[2Jtwo\n"
	w.want(t, 0, "", "", "terminal", "kill", "3", "-s", "box")
	w.want(t, 0, "", "", "terminal", "restart", "3", "-s", "box")
	w.want(t, 0, "onetwo\n", "", "terminal", "logs", "3", "-s", "box")
	w.want(t, 0, "one\x1b[2Jtwo\n", "", "logs", "--raw", "-f", "-n", "5", "box")
	for _, request := range []string{
		"DELETE /sandboxes/box/terminals/3", "POST /sandboxes/" + sandboxNamed("box").ID + "/terminals/3/restart",
		"GET /sandboxes/box/terminals/3/logs", "GET /sandboxes/box/terminals/0/logs?follow=1&raw=1&tail=5",
	} {
		if !w.sent(request) {
			t.Errorf("%q is not in %q", request, w.daemon.Requests())
		}
	}
	for _, line := range []string{
		"terminal kill x", "terminal kill", "terminal kill -1", "terminal attach", "attach --terminal -1 box", "logs -n 0 box", "logs --terminal -1 box",
		"attach box", "terminal attach 0 -s box", "shell -c", "shell -c x --new box", "exec -t box -- ls", "coop -d x", "exec --detach-key x -s box ls",
	} {
		if status, stdout, stderr := w.coop(strings.Fields(line)...); status != 2 || stdout != "" || !strings.HasPrefix(stderr, "coop: ") {
			t.Errorf("coop %s: %d %q %q", line, status, stdout, stderr)
		}
	}
}

func TestInspectShowsTerminals(t *testing.T) {
	w := withTerminals(t)
	_, stdout, _ := w.coop("inspect", "box")
	if !strings.Contains(stdout, "terminal:  0 agent, running, 2 clients: claude\nterminal:  3 shell, ended with 0: bash\n") {
		t.Errorf("%q", stdout)
	}
	_, _, stderr := w.coop("ls", "-v")
	if !strings.Contains(stderr, "box: terminal 0 agent, running, 2 clients: claude\n") {
		t.Errorf("%q", stderr)
	}
}

func TestCompleteTerminals(t *testing.T) {
	w := withTerminals(t)
	for _, args := range [][]string{{"terminal", "kill", "-s", "box", ""}, {"attach", "box", "--terminal", ""}, {"logs", "-s", "box", "--terminal", ""}} {
		_, stdout, _ := w.coop(append([]string{"__complete"}, args...)...)
		if numbers, _, _ := strings.Cut(stdout, ":"); numbers != "0\tagent claude\n3\tshell bash\n" {
			t.Errorf("%q: %q", args, stdout)
		}
	}
}

func TestRestart(t *testing.T) {
	w := newWorld(t)
	w.want(t, 0, "id0001\n", "", "create")
	writeFile(t, "coop.toml", "[agent]\ncommand = \"agent\"\nargs = [\"-x\"]\n[env]\nA = \"b\"\n")
	w.want(t, 0, "", "", "restart")
	w.want(t, 0, "", "", "terminal", "restart", "0")
	want := api.RestartRequest{Agent: &api.Agent{Command: "agent", Args: []string{"-x"}}, Env: map[string]string{"A": "b"}}
	for _, got := range w.daemon.Restarts() {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if n := len(w.daemon.Restarts()); n != 2 {
		t.Errorf("%d restarts", n)
	}
	writeFile(t, "coop.toml", "[agent]\nkommand = 1\n")
	if status, _, stderr := w.coop("restart"); status == 0 || !strings.Contains(stderr, "coop.toml:2:1") {
		t.Errorf("%d %q", status, stderr)
	}
}

// What a verb asks for when it opens a terminal, and whose status it has.
func TestTerminalsThatVerbsOpen(t *testing.T) {
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("COLORTERM", "truecolor")
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANGUAGE"} {
		t.Setenv(name, "")
	}
	env := map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8", "COLORTERM": "truecolor"}
	with := map[string]string{"TERM": "xterm-256color", "LANG": "de", "COLORTERM": "truecolor", "A": "b"}
	for line, want := range map[string]api.TerminalRequest{
		"shell box":                 {Role: "shell", Env: env, Reuse: true},
		"shell --new box":           {Role: "shell", Env: env},
		"shell -w /tmp -u 7 box":    {Role: "shell", Env: env, WorkingDir: "/tmp", User: "7"},
		"shell -c ls box":           {Role: "exec", Env: env, Command: "ls"},
		"exec -t -s box ls -l":      {Role: "exec", Env: env, Command: "ls", Args: &[]string{"-l"}},
		"exec -it box -- ls":        {Role: "exec", Env: env, Command: "ls", Args: &[]string{}},
		"run --rm ls":               {Role: "exec", Env: env, Command: "ls", Args: &[]string{}, OnExit: "remove"},
		"run --timeout 2s -- ls -l": {Role: "exec", Env: env, Command: "ls", Args: &[]string{"-l"}, OnExit: "removeIfUnchanged", TimeoutMs: 2000},
		"exec -t -e A=b -e LANG=de --detach-key none -s box ls": {Role: "exec", Env: with, Command: "ls", Args: &[]string{}},
	} {
		t.Run(line, func(t *testing.T) {
			w := shows(t, func(v *fakedaemon.View) {
				if v.Number != 1 {
					t.Errorf("terminal %d", v.Number)
				}
				v.Exit(9)
			})
			s := newSeat(t)
			s.coop(t, w.daemon, strings.Fields(line)...)
			if got := s.exit(t); got != 9 {
				t.Errorf("status %d, %q", got, s.screen())
			}
			want.Cols, want.Rows = 80, 24
			opened := w.daemon.OpenedTerminals()
			if len(opened) != 1 {
				t.Fatalf("%d terminals, %q", len(opened), s.screen())
			}
			if diff := cmp.Diff(want, opened[0]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Without a terminal of ours the same verbs use pipes.
func TestVerbsWithoutATerminal(t *testing.T) {
	w := newWorld(t)
	w.daemon.Add(sandboxNamed("box"))
	req := remembered(w, nil)
	w.want(t, 0, "", "", "shell", "-c", "ls | wc", "box")
	if diff := cmp.Diff(api.ExecRequest{Command: "ls | wc"}, *req); diff != "" {
		t.Error(diff)
	}
	w.stdin = strings.NewReader("ls")
	w.want(t, 0, "", "", "shell", "box")
	if diff := cmp.Diff(api.ExecRequest{Command: anyShell, Interactive: true}, *req); diff != "" {
		t.Error(diff)
	}
	w.stdin = nil
	w.daemon.Command = func(s *fakedaemon.Session) { s.Exit(6) }
	w.want(t, 6, "", "", "shell", "-c", "x", "box")
}

// A run that was left goes by its rules later; nothing is said of its sandbox.
func TestDetachFromRun(t *testing.T) {
	w := newWorld(t)
	w.daemon.Terminals.Show = func(v *fakedaemon.View) { v.Stdout([]byte("ready")); v.Await("never") }
	s := newSeat(t)
	s.coop(t, w.daemon, "run", "--name", "job", "x")
	s.await(t, "ready")
	s.typing(t, "\x1d")
	if got := s.exit(t); got != 0 || len(w.daemon.Sandboxes()) != 1 || !strings.Contains(s.screen(), "coop attach job --terminal 1") {
		t.Errorf("status %d, %q", got, s.screen())
	}
}

func TestRunThatCannotStart(t *testing.T) {
	w := newWorld(t)
	w.daemon.Fail = func(method, path string) *api.Error {
		if method == "POST" && strings.HasSuffix(path, "/terminals") {
			return &api.Error{Code: api.CodeInvalid, Message: "x: not found", Details: map[string]any{"exitCode": 127}}
		}
		return nil
	}
	s := newSeat(t)
	s.coop(t, w.daemon, "run", "x")
	if got := s.exit(t); got != 127 || len(w.daemon.Sandboxes()) != 0 {
		t.Errorf("status %d, %d sandboxes, %q", got, len(w.daemon.Sandboxes()), s.screen())
	}
}

func TestKnownTerm(t *testing.T) {
	for name, want := range map[string]string{
		"xterm": "xterm", "tmux-256color": "tmux-256color", "xterm-kitty": anyTerm, "alacritty": anyTerm,
		"screen.xterm-256color": "screen", "": "xterm", "dumb": "dumb", "../etc": anyTerm,
	} {
		if got := knownTerm(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
