package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/api"
)

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const everything = `
[base]
image = "debian:12"
[agent]
command = "claude"
args = ["--x"]
user = "me"
[workspace]
mode = "bind"
[env]
A = "file"
KEY = "$COOP_TEST_KEY"
[network]
mode = "host"
[session]
ttl = "1h"
auto_restart = false
[[mounts]]
source = "data"
target = "~/data"
[limits]
cpu = 1
memory = "1GiB"
[security]
seccomp = "strict"
readonly_root = true
[driver]
workspace = "overlay"
`

// Flags that are given win, one that is not changes nothing.
func TestFlagsOverFiles(t *testing.T) {
	w := newWorld(t)
	t.Setenv("COOP_TEST_KEY", "secret")
	cwd, err := workingDir()
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, "coop.toml", everything)
	no := false
	plain := func() api.CreateRequest {
		return api.CreateRequest{
			Image: "debian:12", Agent: &api.Agent{Command: "claude", Args: []string{"--x"}, User: "me"},
			Workspace: &api.Workspace{Source: cwd, Mode: "bind"}, Env: map[string]string{"A": "file", "KEY": "secret"},
			Network: &api.Network{Mode: "host"}, TTL: api.Duration(time.Hour), Session: &api.Session{AutoRestart: &no},
			Mounts: []api.Mount{{Source: "data", Target: "~/data", Write: true}}, Limits: &api.Limits{CPU: 1, Memory: 1 << 30},
			Security: &api.Security{Seccomp: "strict", ReadonlyRoot: true}, Driver: "overlay",
		}
	}
	for line, change := range map[string]func(*api.CreateRequest){
		"":                       func(*api.CreateRequest) {},
		"--image host":           func(r *api.CreateRequest) { r.Image = "host" },
		"--memory 2GiB":          func(r *api.CreateRequest) { r.Limits.Memory = 2 << 30 },
		"--cpu 0 --memory 0":     func(r *api.CreateRequest) { r.Limits = nil },
		"--ttl 0":                func(r *api.CreateRequest) { r.TTL = 0 },
		"--read-only-root=false": func(r *api.CreateRequest) { r.Security.ReadonlyRoot = false },
		"--seccomp off":          func(r *api.CreateRequest) { r.Security.Seccomp = "off" },
		"--network none":         func(r *api.CreateRequest) { r.Network.Mode = "none" },
		"--mode overlay":         func(r *api.CreateRequest) { r.Workspace.Mode = "overlay" },
		"--mode none":            func(r *api.CreateRequest) { r.Workspace = &api.Workspace{Mode: "none"} },
		"--workspace ..":         func(r *api.CreateRequest) { r.Workspace.Source = filepath.Dir(cwd) },
		"-e A=flag -e B=$COOP":   func(r *api.CreateRequest) { r.Env["A"], r.Env["B"] = "flag", "$COOP" },
		"-u root":                func(r *api.CreateRequest) { r.Agent.User = "root" },
		"--volume v:/v": func(r *api.CreateRequest) {
			r.Mounts = append(r.Mounts, api.Mount{Source: "v", Target: "/v", Write: true})
		},
		"--cache npm --cache ~/.x":   func(r *api.CreateRequest) { r.Cache = []string{"npm", "~/.x"} },
		"--reserve src":              func(r *api.CreateRequest) { r.Workspace.Reserve = []string{"src"} },
		"--driver copy":              func(r *api.CreateRequest) { r.Driver = "copy" },
		"--name n --optional limits": func(r *api.CreateRequest) { r.Name, r.Security.Optional = "n", []string{"limits"} },
	} {
		status, _, stderr := w.coop(append([]string{"create"}, strings.Fields(line)...)...)
		if status != 0 || stderr != "" {
			t.Errorf("%s: %d %q", line, status, stderr)
			continue
		}
		want := plain()
		change(&want)
		all := w.daemon.Creates()
		if diff := cmp.Diff(want, all[len(all)-1]); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestConfigFromBelow(t *testing.T) {
	w := newWorld(t)
	cwd, err := workingDir()
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, "coop.toml", "[limits]\ncpu = 1\n")
	writeFile(t, "a/b/x", "")
	writeFile(t, "other.toml", "[limits]\ncpu = 3\n")
	writeFile(t, filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "coop", "default.toml"), "[limits]\ncpu = 9\npids = 99\n")
	t.Chdir("a/b")
	for _, c := range []struct {
		args      []string
		cpu       float64
		workspace string
	}{{[]string{"create"}, 1, cwd}, {[]string{"--config", "../../other.toml", "create"}, 3, filepath.Join(cwd, "a/b")}} {
		if status, _, stderr := w.coop(c.args...); status != 0 || stderr != "" {
			t.Fatalf("%d %q", status, stderr)
		}
		all := w.daemon.Creates()
		got := all[len(all)-1]
		if got.Limits.CPU != c.cpu || got.Limits.PIDs != 99 || got.Workspace.Source != c.workspace {
			t.Errorf("%q: %+v %+v", c.args, got.Limits, got.Workspace)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	w := newWorld(t)
	writeFile(t, "coop.toml", "[bas]\nimage = 1\n[limits]\ncpu = \"\\u001b\"\n")
	const said = "coop: coop.toml:1:2: unknown key \"bas\"\nhint: did you mean base?\n" +
		"coop: coop.toml:4:7: limits.cpu must be a number, not a string\nhint: without quotes, such as 2 or 0.5\n"
	w.want(t, 2, "", said, "create")
	w.want(t, 125, "", said, "run", "--", "true")
	w.want(t, 2, "", "coop: nowhere.toml: no such file or directory\n", "--config", "nowhere.toml", "create")
	writeFile(t, "coop.toml", "[env]\nA = \"$COOP_TEST_NEVER_SET\"\n")
	w.want(t, 2, "", "coop: coop.toml:2:5: env.A: COOP_TEST_NEVER_SET is not set here\nhint: export COOP_TEST_NEVER_SET, or write ${COOP_TEST_NEVER_SET:-} where it may be missing\n", "create")
	if n := len(w.daemon.Creates()); n != 0 {
		t.Errorf("%d sandboxes created", n)
	}
	w.want(t, 0, "id0001\n", "", "create", "-e", "A=b")
}

func TestForeignConfig(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to give a file away")
	}
	w := newWorld(t)
	writeFile(t, "coop.toml", "nonsense")
	if err := os.Chown("coop.toml", 4321, -1); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := w.coop("create")
	if status != 0 || stdout != "id0001\n" || !strings.HasPrefix(stderr, "coop: warning: coop.toml is not read: it belongs to uid 4321, neither to you nor to root\nhint: if you trust it, name it: --config /") {
		t.Errorf("%d %q %q", status, stdout, stderr)
	}
	w.want(t, 0, "id0002\n", "", "create", "-q")
}

func TestRestartRequest(t *testing.T) {
	newWorld(t)
	t.Setenv("COOP_TEST_KEY", "secret")
	writeFile(t, "coop.toml", everything)
	cwd, err := workingDir()
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&app{}).restartRequest(cwd)
	no := false
	want := api.RestartRequest{
		Agent: &api.Agent{Command: "claude", Args: []string{"--x"}, User: "me"},
		Env:   map[string]string{"A": "file", "KEY": "secret"}, Session: &api.Session{AutoRestart: &no},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
