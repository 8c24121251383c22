package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestToolkits(t *testing.T) {
	for files, want := range map[string]string{
		"":                             "",
		"go.mod Makefile":              "Go/go.mod",
		"Makefile":                     "Make/Makefile",
		"package.json":                 "JavaScript, npm/package.json",
		"package.json yarn.lock":       "JavaScript, Yarn/yarn.lock",
		"package.json pnpm-lock.yaml":  "JavaScript, pnpm/pnpm-lock.yaml",
		"pyproject.toml":               "Python, pip/pyproject.toml",
		"pyproject.toml uv.lock":       "Python, uv/uv.lock",
		"requirements.txt setup.py":    "Python, pip/requirements.txt",
		"Cargo.toml package.json":      "Rust/Cargo.toml JavaScript, npm/package.json",
		"pom.xml":                      "Java, Maven/pom.xml",
		"build.gradle pom.xml":         "Java, Maven/pom.xml",
		"Gemfile":                      "Ruby, Bundler/Gemfile",
		"composer.json go.mod Gemfile": "Go/go.mod Ruby, Bundler/Gemfile PHP, Composer/composer.json",
	} {
		dir := t.TempDir()
		for _, f := range strings.Fields(files) {
			write(t, dir, map[string]string{f: "{}"})
		}
		var got []string
		for _, k := range findToolkits(dir) {
			got = append(got, k.Name+"/"+k.File)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s", files, s)
		}
	}
}

func TestScriptCheck(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		`{"scripts":{"test":"jest"}}`: "npm test", `{"scripts":{}}`: "", `{}`: "", `not json`: "npm test",
	} {
		write(t, dir, map[string]string{"package.json": text})
		if got := findToolkits(dir)[0].Check; got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestFindAgent(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"codex": "", "claude": "", "amp/x": ""})
	if got := findAgent([]string{dir}); got != nil {
		t.Errorf("not executable: %+v", got)
	}
	if err := os.Chmod(filepath.Join(dir, "codex"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := &Program{Name: "codex", Path: filepath.Join(dir, "codex"), Key: "OPENAI_API_KEY", State: ".codex"}
	if diff := cmp.Diff(want, findAgent([]string{".", "/nowhere", dir})); diff != "" {
		t.Error(diff)
	}
	t.Chdir(dir)
	if got := findAgent([]string{".", ""}); got != nil {
		t.Errorf("an agent of the current directory: %+v", got)
	}
}

func TestVisible(t *testing.T) {
	link := filepath.Join(t.TempDir(), "sh")
	if err := os.Symlink("/bin/sh", link); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{"/bin/sh": true, "/usr/bin/env": true, link: false, "/nowhere": false, "/etc/passwd": false} {
		if visible(file) != want {
			t.Errorf("%s: %v", file, !want)
		}
	}
}

func TestGitTop(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a/.git/HEAD": "", "a/b/c": "", "w/.git": "gitdir: x"})
	for from, want := range map[string]string{"a/b": "a", "a": "a", "w": "w"} {
		if got := gitTop(filepath.Join(dir, from)); got != filepath.Join(dir, want) {
			t.Errorf("%s: %s", from, got)
		}
	}
}

func TestAbove(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"coop.toml": "", "p/coop.toml": "", "p/a/b/x": "", "q/x": ""})
	for from, want := range map[string]string{"p/a/b": "p/coop.toml", "p/a": "p/coop.toml", "p": "", "q": "", "": ""} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got := Above(filepath.Join(dir, from), dir); got != want {
			t.Errorf("%s: %s", from, got)
		}
	}
	if got := Above("/", ""); got != "" {
		t.Error(got)
	}
}

// Whatever is found, the file that comes of it is read without a complaint and
// asks for nothing that is not there; and its comments are right too: with every
// # that hides a key taken away it still parses.
func TestStarter(t *testing.T) {
	all := Found{Agent: &Program{Name: "claude", Path: "/home/me/.local/bin/claude", Key: "K", State: ".claude"}, Languages: toolkits()}
	for name, f := range map[string]Found{
		"nothing":     {},
		"everything":  all,
		"in the PATH": {Agent: &Program{Name: "claude", Path: "/usr/bin/claude", Visible: true, Key: "K", State: ".claude"}},
		"not in it":   {Agent: &Program{Name: "amp", Path: "/opt/a \"b\"\n\\a/amp", Visible: true, Key: "K", State: "x"}, Languages: toolkits()[:1]},
		"hostile":     {Agent: &Program{Name: "amp", Path: "/home/me/\n[limits]\ncpu=99\n#\x1b\xff/amp", Key: "K", State: "x"}},
	} {
		o := stand(t, nil)
		text := Starter(f, "/home/me")
		write(t, o.Dir, map[string]string{Name: string(text)})
		c := load(t, o)
		if err := c.Supported(""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.Environ(func(string) (string, bool) { return "", false }, nil); err != nil || c.Limits.CPU != 0 {
			t.Errorf("%s: %v", name, err)
		}
		if f.Agent != nil && f.Agent.Visible != (c.Agent.Command != "") {
			t.Errorf("%s: command %q", name, c.Agent.Command)
		}
		write(t, o.Dir, map[string]string{Name: uncomment(string(text))})
		if _, err := Load(o); err != nil {
			t.Errorf("%s, all of it: %v\n%s", name, err, uncomment(string(text)))
		}
	}
}

// uncomment takes the # of commented keys and tables away.
func uncomment(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "# "); ok && (strings.HasPrefix(rest, "[") || strings.Contains(rest, " = ")) {
			line = rest
		}
		b.WriteString(line)
	}
	return b.String()
}
