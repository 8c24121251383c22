package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/api"
)

// place to stand in for tests: a home with a project in it.
func stand(t *testing.T, files map[string]string) Options {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, home, files)
	dir := filepath.Join(home, "project")
	if err := os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Options{Dir: dir, Home: home, UserDir: filepath.Join(home, ".config", "coop"), UID: os.Getuid()}
}

func load(t *testing.T, o Options) *Config {
	t.Helper()
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNoFile(t *testing.T) {
	o := stand(t, nil)
	c := load(t, o)
	want := api.CreateRequest{Workspace: &api.Workspace{Source: o.Dir, Mode: "overlay"}}
	if diff := cmp.Diff(want, c.Request()); diff != "" {
		t.Error(diff)
	}
	if err := c.Supported(""); err != nil {
		t.Errorf("defaults: %v", err)
	}
	if len(c.Files) != 0 {
		t.Errorf("%q", c.Files)
	}
}

func TestLayers(t *testing.T) {
	o := stand(t, map[string]string{
		".config/coop/default.toml": `
[packages]
npm = ["a"]
[setup]
run = ["one"]
[agent]
command = "claude"
args = ["--x"]
[env]
A = "user"
B = "user"
[limits]
cpu = 1
memory = "1GiB"
[[mounts]]
source = "./rel"
target = "/user"
[session]
persist = [".a"]
`,
		"project/coop.toml": `
[packages]
npm = ["b"]
[setup]
run = ["two"]
[agent]
args = ["--y"]
[env]
B = "project"
C = "project"
[limits]
memory = "2GiB"
[[mounts]]
source = "../rel"
target = "/project"
[session]
persist = [".b"]
`,
	})
	c := load(t, o)
	for name, pair := range map[string][2]any{
		"npm":     {c.Packages.Npm, []string{"a", "b"}},
		"run":     {c.Setup.Run, []string{"one", "two"}},
		"args":    {c.Agent, Agent{Command: "claude", Args: []string{"--y"}, User: "root"}},
		"env":     {c.Env, map[string]string{"A": "user", "B": "project", "C": "project"}},
		"limits":  {c.Limits, api.Limits{CPU: 1, Memory: 2 << 30, PIDs: 1024}},
		"persist": {c.Session.Persist, []string{".b"}},
		"mounts": {c.MountList(), []api.Mount{
			{Source: filepath.Join(o.Dir, "rel"), Target: "/user"},
			{Source: filepath.Join(o.Home, "rel"), Target: "/project"},
		}},
		"files": {c.Files, []string{filepath.Join(o.UserDir, "default.toml"), filepath.Join(o.Dir, Name)}},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := c.Request().Limits; got.PIDs != 0 {
		t.Error("a default was asked for")
	}
}

// A mistake counts even where a higher layer replaces the value, and all files
// are reported at once.
func TestErrorsOfAllLayers(t *testing.T) {
	o := stand(t, map[string]string{
		".config/coop/default.toml": "[limits]\ncpu = \"2\"\n",
		"project/coop.toml":         "[limits]\ncpu = 2\nmem = 1\n",
	})
	_, err := Load(o)
	want := filepath.Join(o.UserDir, "default.toml") + ":2:7: limits.cpu must be a number, not a string; " +
		filepath.Join(o.Dir, Name) + `:3:1: unknown key "limits.mem"`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestSearch(t *testing.T) {
	const one, two = "[limits]\ncpu = 1\n", "[limits]\ncpu = 2\n"
	for name, c := range map[string]struct {
		files     map[string]string
		from      string
		cpu       float64
		workspace string
	}{
		"here":                    {map[string]string{"project/coop.toml": one}, "project", 1, "project"},
		"above":                   {map[string]string{"project/coop.toml": one}, "project/sub/deep", 1, "project"},
		"the nearest":             {map[string]string{"project/coop.toml": one, "project/sub/coop.toml": two}, "project/sub/deep", 2, "project/sub"},
		"not beside":              {map[string]string{"project/sub/coop.toml": one}, "project", 0, "project"},
		"not the home's":          {map[string]string{"coop.toml": one}, "project/sub", 0, "project/sub"},
		"the home's, in the home": {map[string]string{"coop.toml": one}, "", 1, ""},
		"source of its own":       {map[string]string{"project/coop.toml": one + "[workspace]\nsource = \"sub\"\n"}, "project/sub/deep", 1, "project/sub"},
	} {
		t.Run(name, func(t *testing.T) {
			o := stand(t, c.files)
			o.Dir = filepath.Join(o.Home, c.from)
			got := load(t, o)
			if got.Limits.CPU != c.cpu || got.Request().Workspace.Source != filepath.Join(o.Home, c.workspace) {
				t.Errorf("cpu %g, workspace %s", got.Limits.CPU, got.Request().Workspace.Source)
			}
		})
	}
}

func TestNamedFile(t *testing.T) {
	o := stand(t, map[string]string{
		"project/coop.toml":         "[limits]\ncpu = 1\nmemory = \"1GiB\"\n",
		"elsewhere/x.toml":          "[limits]\ncpu = 2\n[base]\nimage = \"oci:img\"\n",
		".config/coop/default.toml": "[limits]\npids = 99\n",
	})
	o.File = "../elsewhere/x.toml"
	c := load(t, o)
	want := api.CreateRequest{
		Workspace: &api.Workspace{Source: o.Dir, Mode: "overlay"},
		Limits:    &api.Limits{CPU: 2, PIDs: 99}, Image: "oci:" + filepath.Join(o.Home, "elsewhere", "img"),
	}
	if diff := cmp.Diff(want, c.Request()); diff != "" {
		t.Error(diff)
	}
	o.File = "missing.toml"
	if _, err := Load(o); err == nil || err.Error() != filepath.Join(o.Dir, "missing.toml")+": no such file or directory" {
		t.Errorf("%v", err)
	}
}

// A file that another user put in the way configures nothing and stops nothing.
func TestForeignFile(t *testing.T) {
	o := stand(t, map[string]string{"project/coop.toml": "[limits]\ncpu = 1\n", "project/sub/coop.toml": "[limits]\ncpu = 2\nnonsense\n"})
	o.Dir = filepath.Join(o.Dir, "sub")
	foreign := filepath.Join(o.Dir, Name)
	o.UID = os.Getuid()
	if os.Getuid() == 0 {
		if err := os.Chown(foreign, 4321, -1); err != nil {
			t.Fatal(err)
		}
		c := load(t, o)
		if c.Limits.CPU != 1 || len(c.Ignored) != 1 || c.Ignored[0].File != foreign || c.Ignored[0].Reason != "belongs to uid 4321, neither to you nor to root" {
			t.Errorf("%g %+v", c.Limits.CPU, c.Ignored)
		}
		return
	}
	o.UID = os.Getuid() + 1 // all files are foreign to somebody else
	c := load(t, o)
	if c.Limits.CPU != 0 || len(c.Ignored) != 2 || c.Ignored[0].File != foreign {
		t.Errorf("%g %+v", c.Limits.CPU, c.Ignored)
	}
}

// A symbolic link of another user does not make a file of ours count.
func TestForeignLink(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to give a link away")
	}
	o := stand(t, map[string]string{"mine.toml": "[limits]\ncpu = 1\n"})
	link := filepath.Join(o.Dir, Name)
	if err := errors.Join(os.Symlink("../mine.toml", link), os.Lchown(link, 4321, -1)); err != nil {
		t.Fatal(err)
	}
	if c := load(t, o); c.Limits.CPU != 0 || len(c.Ignored) != 1 {
		t.Errorf("%g %+v", c.Limits.CPU, c.Ignored)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	for name, create := range map[string]func(string) error{
		"is not a regular file": func(p string) error { return os.Mkdir(p, 0o755) },
		"is not a regular":      func(p string) error { return syscall.Mkfifo(p, 0o644) },
		"is larger than":        func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("#\n", maxFile)), 0o644) },
	} {
		o := stand(t, nil)
		if err := create(filepath.Join(o.Dir, Name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(Options{Dir: t.TempDir(), Home: "/dev/null", UserDir: "/dev/null/.config/coop"}); err != nil {
		t.Error(err)
	}
}

func TestEnviron(t *testing.T) {
	o := stand(t, map[string]string{"project/coop.toml": `
[env]
PLAIN = "x"
KEY = "$SECRET"
BOTH = "a${SECRET}b$$c"
DEFAULT = "${NEVER:-fall}"
EMPTY = "${NOTHING:-back}$NOTHING"
`})
	host := map[string]string{"SECRET": "s", "NOTHING": "", "PLAIN": "host", "OTHER": "o"}
	lookup := func(k string) (string, bool) { v, ok := host[k]; return v, ok }
	got, err := load(t, o).Environ(lookup, map[string]string{"PLAIN": "$flag", "MORE": "m"})
	want := map[string]string{"PLAIN": "$flag", "MORE": "m", "KEY": "s", "BOTH": "asb$c", "DEFAULT": "fall", "EMPTY": "back"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	delete(host, "SECRET")
	_, err = load(t, o).Environ(lookup, map[string]string{"BOTH": ""})
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != api.CodeInvalid || failure.Error() != filepath.Join(o.Dir, Name)+":4:7: env.KEY: SECRET is not set here" ||
		failure.Hint() != "export SECRET, or write ${SECRET:-} where it may be missing" {
		t.Errorf("%+v", failure)
	}
	if _, err = load(t, o).Environ(lookup, map[string]string{"BOTH": "", "KEY": "given"}); err != nil {
		t.Errorf("a flag takes the place of a missing variable: %v", err)
	}
}

func TestRequest(t *testing.T) {
	yes, no := true, false
	for text, want := range map[string]api.CreateRequest{
		"[base]\nimage = \"debian:12\"\n":                                              {Image: "debian:12"},
		"[network]\nmode = \"bridge\"\n":                                               {Network: &api.Network{Mode: "veth"}},
		"[agent]\ncommand = \"claude\"\n":                                              {Agent: &api.Agent{Command: "claude"}},
		"[agent]\nuser = \"me\"\ninstall = \"x\"\n":                                    {Agent: &api.Agent{User: "me"}},
		"[session]\npersist = []\n":                                                    {Persist: &[]string{}},
		"[session]\npersist = [\".x\"]\n[cache]\npaths = [\"npm\"]\n":                  {Persist: &[]string{".x"}, Cache: []string{"npm"}},
		"[driver]\nupper = \"tmpfs\"\n":                                                {Upper: "tmpfs"},
		"[driver]\nworkspace = \"copy\"\n":                                             {Driver: "copy"},
		"[session]\nttl = \"1h\"\nidle_timeout = \"2h\"\n":                             {TTL: api.Duration(time.Hour), IdleTimeout: api.Duration(2 * time.Hour)},
		"[session]\nauto_restart = false\nrestart_delay = \"0\"\n":                     {Session: &api.Session{AutoRestart: &no, RestartDelay: 1}},
		"[terminal]\nscrollback = \"1MiB\"\nblock = [\"\\x04\"]\n":                     {Session: &api.Session{Scrollback: 1 << 20, Block: []string{"\x04"}}},
		"[terminal]\ndetach_key = \"ctrl-b\"\n":                                        {},
		"[security]\nreadonly_root = true\noptional = [\"limits\"]":                    {Security: &api.Security{ReadonlyRoot: true, Optional: []string{"limits"}}},
		"[limits]\ncpu = 0.5\nexec_timeout = \"2m\"\n":                                 {Limits: &api.Limits{CPU: 0.5, ExecTimeout: api.Duration(2 * time.Minute)}},
		"[workspace]\nmode = \"none\"\n":                                               {Workspace: &api.Workspace{Mode: "none"}},
		"[workspace]\nmode = \"volume\"\nsource = \"v\"\n":                             {Workspace: &api.Workspace{Mode: "volume", Source: "v"}},
		"[workspace]\nmode = \"bind\"\nrepo = true\n":                                  {Workspace: &api.Workspace{Mode: "bind", Source: "DIR"}},
		"[workspace]\nrepo = true\npath = \"/src\"\n":                                  {Workspace: &api.Workspace{Mode: "overlay", Source: "DIR", Repo: &yes, Path: "/src"}},
		"[workspace]\nmode = \"clone\"\nsource = \"https://h/r\"\ncommit = \"main\"\n": {Workspace: &api.Workspace{Mode: "clone", Source: "https://h/r", Commit: "main"}},
		"[workspace]\nsource = \"/abs\"\nreserve = [\"src/**\"]\n":                     {Workspace: &api.Workspace{Mode: "overlay", Source: "/abs", Reserve: []string{"src/**"}}},
	} {
		o := stand(t, map[string]string{"project/coop.toml": text})
		if want.Workspace == nil {
			want.Workspace = &api.Workspace{Mode: "overlay", Source: "DIR"}
		}
		if want.Workspace.Source == "DIR" {
			want.Workspace.Source = o.Dir
		}
		if diff := cmp.Diff(want, load(t, o).Request()); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

func TestSupported(t *testing.T) {
	for text, want := range map[string]string{
		"[setup]\nrun = [\"x\"]\n":     ":2:7: setup.run is not there yet",
		"[packages]\nnpm = [\"x\"]\n":  ":2:7: packages.npm is not there yet",
		"[packages]\napt = [\"x\"]\n":  ":2:7: packages.apt needs a real image, not the host's system",
		"[agent]\ninstall = \"x\"\n":   ":2:11: agent.install is not there yet",
		"[review]\ncheck = \"make\"\n": ":2:9: review.check is not there yet",
		"[driver]\nupper = \"disk\"\n": "",
		"[review]\ncheck = \"\"\n":     "",
		"[cache]\npaths = []\n[session]\npersist = []\n[packages]\napt = []\n[setup]\nrun = []\n": "",
	} {
		o := stand(t, map[string]string{"project/coop.toml": text})
		err := load(t, o).Supported("")
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != filepath.Join(o.Dir, Name)+want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	o := stand(t, map[string]string{"project/coop.toml": "[packages]\napt = [\"x\"]\n"})
	var failure *Error
	if err := load(t, o).Supported("debian:12"); !errors.As(err, &failure) || failure.Code != api.CodeUnsupported {
		t.Errorf("%v", err)
	}
}

func TestMountList(t *testing.T) {
	for text, want := range map[string]api.Mount{
		`source = "~/.gitconfig"` + "\n" + `target = "~/.gitconfig"`:         {Source: "HOME/.gitconfig", Target: "~/.gitconfig"},
		`source = "./x"` + "\n" + `target = "/x"` + "\nwrite = true":         {Source: "DIR/x", Target: "/x", Write: true},
		`source = "data"` + "\n" + `target = "/data"`:                        {Source: "data", Target: "/data", Write: true},
		`source = "data"` + "\n" + `target = "/data"` + "\nwrite = false":    {Source: "data", Target: "/data"},
		`source = "data"` + "\n" + `target = "/data"` + "\nseed = \"~/s\"":   {Source: "data", Target: "/data", Write: true, Seed: "HOME/s"},
		`source = "data"` + "\n" + `target = "/data"` + "\nseed = \"sub/s\"": {Source: "data", Target: "/data", Write: true, Seed: "DIR/sub/s"},
	} {
		o := stand(t, map[string]string{"project/coop.toml": "[[mounts]]\n" + text + "\n"})
		for _, p := range []*string{&want.Source, &want.Seed} {
			*p = strings.NewReplacer("HOME", o.Home, "DIR", o.Dir).Replace(*p)
		}
		if diff := cmp.Diff([]api.Mount{want}, load(t, o).MountList()); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestNoHome(t *testing.T) {
	o := stand(t, map[string]string{"project/coop.toml": "[[mounts]]\nsource = \"~/x\"\ntarget = \"/x\"\n"})
	o.Home, o.UserDir = "", ""
	if _, err := Load(o); err == nil || err.Error() != filepath.Join(o.Dir, Name)+":1:3: mounts[0].source: you have no home" {
		t.Error(err)
	}
	t.Setenv("XDG_CONFIG_HOME", "relative")
	if UserDir("") != "" || UserDir("/h") != "/h/.config/coop" {
		t.Error(UserDir(""), UserDir("/h"))
	}
	t.Setenv("XDG_CONFIG_HOME", "/x")
	if UserDir("") != "/x/coop" {
		t.Error(UserDir(""))
	}
}
