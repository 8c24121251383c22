package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// here is a project directory of its own.
func here(t *testing.T, name string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Join(dir, "src/deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
}

func TestCoopAlone(t *testing.T) {
	w := newWorld(t)
	w.daemon.Terminals.Show = func(v *fakedaemon.View) {
		v.Stdout([]byte("agent of " + v.Ref))
		v.Await("never")
	}
	here(t, "My Project")
	s := newSeat(t)
	s.coop(t, w.daemon)
	s.await(t, "coop: made sandbox my-project")
	s.await(t, "agent of id0001")
	s.typing(t, "\x1d")
	if got := s.exit(t); got != 0 {
		t.Fatalf("status %d, %q", got, s.screen())
	}
	if r := w.daemon.Creates()[0]; r.Name != "my-project" || r.Workspace.Mode != "overlay" {
		t.Errorf("%+v", r)
	}
	t.Chdir("src/deep") // finds the project's
	w.want(t, 0, "id0001\n", "", "-d")
	w.want(t, 0, "", "", "stop")
	w.want(t, 0, "id0001\n", "coop: starting my-project\n", "-d")
	if !w.sent("POST /sandboxes/id0001/start") || len(w.daemon.Creates()) != 1 {
		t.Errorf("%q", w.daemon.Requests())
	}
}

func TestCoopAloneWithoutATerminal(t *testing.T) {
	w := newWorld(t)
	here(t, "p")
	w.want(t, 2, "", "coop: stdin and stdout are not a terminal\nhint: coop -d makes the sandbox of this directory without attaching; coop --help lists the verbs\n")
	w.want(t, 3, "", "coop: no sandbox \"nobody\"\nhint: coop ls\n", "-d", "-s", "nobody")
	if n := len(w.daemon.Creates()); n != 0 {
		t.Errorf("%d created", n)
	}
	w.want(t, 0, "id0001\n", "coop: made sandbox p\n", "-d")
	w.want(t, 0, "id0001\n", "", "-d")
}

// A name that another directory has taken is no obstacle; one that the same
// directory has just taken is the sandbox.
func TestCoopAloneAtTheSameTime(t *testing.T) {
	taken := &api.Error{Code: api.CodeConflict, Message: "the name is taken"}
	w := newWorld(t)
	here(t, "p")
	dir, err := workingDir()
	if err != nil {
		t.Fatal(err)
	}
	w.daemon.Fail = func(method, path string) *api.Error {
		if method != "POST" || path != "/sandboxes" {
			return nil
		}
		if len(w.daemon.Sandboxes()) == 0 { // somebody is faster
			w.daemon.Add(api.Sandbox{ID: "first", Name: "p", Status: "running", Metadata: map[string]any{"project": dir}})
			return taken
		}
		return nil
	}
	w.want(t, 0, "first\n", "", "-d")

	elsewhere := newWorld(t)
	here(t, "p")
	elsewhere.daemon.Add(sandboxNamed("p")) // of another directory
	var tries atomic.Int32
	elsewhere.daemon.Fail = func(method, path string) *api.Error {
		if method == "POST" && path == "/sandboxes" && tries.Add(1) == 1 {
			return taken
		}
		return nil
	}
	elsewhere.want(t, 0, "id0001\n", "coop: made sandbox box-1\n", "-d")
}

// A project whose files come from elsewhere has one sandbox, too.
func TestCoopAloneWithoutAWorkspace(t *testing.T) {
	w := newWorld(t)
	here(t, "p")
	writeFile(t, "coop.toml", "[workspace]\nmode = \"none\"\n")
	w.want(t, 0, "id0001\n", "coop: made sandbox p\n", "-d")
	w.daemon.Fail = func(method, path string) *api.Error {
		if method == "POST" && path == "/sandboxes" {
			return &api.Error{Code: api.CodeConflict, Message: "the name is taken"}
		}
		return nil
	}
	w.want(t, 0, "id0001\n", "", "-d")
	if n := len(w.daemon.Creates()); n != 1 {
		t.Errorf("%d created", n)
	}
}

func TestConfiguredDetachKey(t *testing.T) {
	w := newWorld(t)
	got := make(chan string, 1)
	w.daemon.Terminals.Show = func(v *fakedaemon.View) {
		v.Stdout([]byte("ready"))
		in, _ := v.Await("never")
		got <- string(in)
	}
	here(t, "p")
	writeFile(t, "coop.toml", "[terminal]\ndetach_key = \"ctrl-p,ctrl-q\"\n")
	s := newSeat(t)
	s.coop(t, w.daemon)
	s.await(t, "ready")
	s.typing(t, "\x1d\x10x\x10\x11")
	if status := s.exit(t); status != 0 {
		t.Errorf("status %d, %q", status, s.screen())
	}
	if in := <-got; in != "\x1d\x10x" {
		t.Errorf("%q", in)
	}
}

// A mistake in coop.toml does not keep anybody from a sandbox that runs.
func TestAttachWithABrokenFile(t *testing.T) {
	w := newWorld(t)
	w.daemon.Terminals.Show = func(v *fakedaemon.View) { v.Stdout([]byte("ready")); v.Await("never") }
	here(t, "p")
	w.want(t, 0, "id0001\n", "coop: made sandbox p\n", "-d")
	writeFile(t, "coop.toml", "[terminal]\ndetach_kay = 1\n")
	s := newSeat(t)
	s.coop(t, w.daemon, "attach")
	s.await(t, "ready")
	s.typing(t, "\x1d")
	if status := s.exit(t); status != 0 || !strings.Contains(s.screen(), "coop: warning: coop.toml is not read: ") {
		t.Errorf("status %d, %q", status, s.screen())
	}
}
