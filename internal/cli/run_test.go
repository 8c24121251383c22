package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// remembered is a command that notes how it was asked for.
func remembered(w *world, kept *bool) *api.ExecRequest {
	req := &api.ExecRequest{}
	w.daemon.Command = func(s *fakedaemon.Session) {
		*req = s.Request
		s.Control(api.Control{Type: "exit", Exit: &api.ExecResult{}, Kept: kept})
	}
	return req
}

func TestRunCommandLine(t *testing.T) {
	w := newWorld(t)
	req := remembered(w, nil)
	for line, want := range map[string]api.ExecRequest{
		"run ls -l":                           {Command: "ls", Args: &[]string{"-l"}, OnExit: "removeIfUnchanged"},
		"run -- ls -l":                        {Command: "ls", Args: &[]string{"-l"}, OnExit: "removeIfUnchanged"},
		"run ls -- -l":                        {Command: "ls", Args: &[]string{"--", "-l"}, OnExit: "removeIfUnchanged"},
		"run --rm -w /tmp -u 7 -- true":       {Command: "true", Args: &[]string{}, OnExit: "remove", WorkingDir: "/tmp", User: "7"},
		"run --timeout 1us -- true":           {Command: "true", Args: &[]string{}, OnExit: "removeIfUnchanged", TimeoutMs: 1},
		"exec -s box ls -l":                   {Command: "ls", Args: &[]string{"-l"}},
		"exec -s box -- ls -l":                {Command: "ls", Args: &[]string{"-l"}},
		"exec box -- ls -l":                   {Command: "ls", Args: &[]string{"-l"}},
		"exec -e A=b box -w /x -- ls -e -- x": {Command: "ls", Args: &[]string{"-e", "--", "x"}, Env: map[string]string{"A": "b"}, WorkingDir: "/x"},
		"exec -i --timeout 2s box -- ls":      {Command: "ls", Args: &[]string{}, TimeoutMs: 2000},
	} {
		w.daemon.Add(api.Sandbox{ID: "id-box", Name: "box"})
		if status, stdout, stderr := w.coop(strings.Fields(line)...); status != 0 || stdout != "" || stderr != "" {
			t.Errorf("coop %s: %d %q %q", line, status, stdout, stderr)
		}
		if diff := cmp.Diff(want, *req); diff != "" {
			t.Errorf("coop %s: %s", line, diff)
		}
	}
}

func TestExecInThisDirectory(t *testing.T) {
	w := newWorld(t)
	w.want(t, 0, "id0001\n", "", "create")
	w.daemon.Command = func(s *fakedaemon.Session) { s.Stdout([]byte(s.Ref)); s.Exit(3) }
	w.want(t, 3, "id0001", "", "exec", "--", "ls")
}

func TestRunPassesBytes(t *testing.T) {
	w := newWorld(t)
	w.stdin = strings.NewReader("in\x00\xff")
	w.daemon.Command = func(s *fakedaemon.Session) {
		in, _ := s.Await("closeStdin")
		s.Stdout(append(in, "\x1b[0m"...))
		s.Stderr([]byte("\xfe"))
		s.Exit(9)
	}
	w.want(t, 9, "in\x00\xff\x1b[0m", "\xfe", "run", "cat")
}

func TestRunTellsWhatItKept(t *testing.T) {
	yes, no := true, false
	const hint = "hint: look with coop inspect box, remove with coop rm box\n"
	for _, row := range []struct {
		kept *bool
		line string
		want string
	}{
		{&yes, "run --name box -- x", "coop: kept sandbox box: it has changes\n" + hint},
		{&no, "run --name box -- x", ""},
		{nil, "run --name box --rm -- x", ""},
		{nil, "run --name box --keep -- x", "coop: kept sandbox box\n" + hint},
		{&yes, "run -q --name box -- x", ""},
	} {
		w := newWorld(t)
		remembered(w, row.kept)
		w.want(t, 0, "", row.want, strings.Fields(row.line)...)
	}
}

func TestRunDeletesWhatNeverRan(t *testing.T) {
	refuse := func(_, path string) *api.Error {
		if strings.HasSuffix(path, "/attach") {
			return &api.Error{Code: api.CodeExhausted, Message: "too many"}
		}
		return nil
	}
	w := newWorld(t)
	w.daemon.Fail = refuse
	w.want(t, 125, "", "coop: too many\n", "run", "x")
	if n := len(w.daemon.Sandboxes()); n != 0 {
		t.Errorf("%d sandboxes left", n)
	}
	status, _, stderr := w.coop("run", "--keep", "x")
	if status != 125 || !strings.Contains(stderr, "kept sandbox box-2") || len(w.daemon.Sandboxes()) != 1 {
		t.Errorf("%d %q", status, stderr)
	}
	w.daemon.Fail = func(method, path string) *api.Error {
		if method == "DELETE" {
			return &api.Error{Code: api.CodeInternal, Message: "busy"}
		}
		return refuse(method, path)
	}
	w.want(t, 125, "", "coop: sandbox box-3 is still there: busy\nhint: remove it with coop rm -f box-3\ncoop: too many\n", "run", "x")
}

func TestRunTimeout(t *testing.T) {
	w := newWorld(t)
	w.daemon.Command = func(s *fakedaemon.Session) {
		s.Control(api.Control{Type: "exit", Exit: &api.ExecResult{ExitCode: 137, Signal: "SIGKILL", TimedOut: true}})
	}
	w.want(t, 124, "", "coop: the command ran into its time limit\n", "run", "--timeout", "1s", "x")
}

func TestHasInput(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	closed, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if hasInput(nil) || hasInput(null) || hasInput(closed) || !hasInput(file) || !hasInput(strings.NewReader("")) {
		t.Error("nil, /dev/null and a closed file are no input, others are")
	}
}
