package changes

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// hostRuns are the files that make the host run code later, and who runs it.
var hostRuns = []struct{ glob, who string }{
	{".envrc", "direnv, when you enter the directory"},
	{".env", "tools that load it as their environment"},
	{".vscode/tasks.json", "your editor"},
	{".vscode/settings.json", "your editor"},
	{".vscode/launch.json", "your editor"},
	{".idea/**", "your editor"},
	{".devcontainer/**", "your editor"},
	{".exrc", "your editor"},
	{".vimrc", "your editor"},
	{".nvim.lua", "your editor"},
	{".dir-locals.el", "your editor"},
	{"*.code-workspace", "your editor"},
	{".claude/**", "an agent on the host"},
	{".cursor/**", "an agent on the host"},
	{".mcp.json", "an agent on the host"},
	{"coop.toml", "coop: mounts and commands of the next sandbox"},
	{".github/workflows/**", "CI"},
	{".github/actions/**", "CI"},
	{".gitlab-ci.yml", "CI"},
	{".circleci/**", "CI"},
	{".travis.yml", "CI"},
	{"azure-pipelines.yml", "CI"},
	{"Jenkinsfile", "CI"},
	{".gitattributes", "git filters"},
	{".gitmodules", "git submodules"},
	{".githooks/**", "git hooks"},
	{".husky/**", "git hooks"},
	{".pre-commit-config.yaml", "git hooks"},
	{"lefthook.yml", "git hooks"},
	{"package.json#scripts", "npm"},
	{".npmrc", "npm"},
	{".yarnrc", "yarn"},
	{".yarnrc.yml", "yarn"},
	{".pnpmfile.cjs", "pnpm"},
	{"setup.py", "pip"},
	{"setup.cfg", "pip"},
	{"pyproject.toml#build-system", "pip"},
	{"pyproject.toml#tool", "python tools"},
	{"conftest.py", "pytest"},
	{"tox.ini", "tox"},
	{"sitecustomize.py", "python, at its start"},
	{".cargo/config.toml", "cargo"},
	{".cargo/config", "cargo"},
	{"build.rs", "cargo"},
	{"rust-toolchain.toml", "rustup"},
	{"Makefile", "make"},
	{"GNUmakefile", "make"},
	{"justfile", "just"},
	{"Rakefile", "rake"},
	{"CMakeLists.txt", "cmake"},
	{"gradlew", "gradle"},
	{"*.gradle", "gradle"},
	{"*.gradle.kts", "gradle"},
	{"gradle/wrapper/**", "gradle"},
	{"mvnw", "maven"},
	{".mvn/**", "maven"},
	{".bazelrc", "bazel"},
	{".gdbinit", "gdb"},
	{".lldbinit", "lldb"},
	{".mise.toml", "mise"},
	{"mise.toml", "mise"},
	{".tool-versions", "asdf"},
	{"Dockerfile", "docker build"},
	{"Dockerfile.*", "docker build"},
	{"Containerfile", "docker build"},
	{"compose.y*ml", "docker compose"},
	{"docker-compose*.y*ml", "docker compose"},
}

// flag is a compiled entry of Policy.Flag.
type flag struct {
	glob
	key string
	why string
}

func newFlag(text string) flag {
	g, key := cutKey(text)
	f := flag{glob: compile(g, true), key: key, why: "matches " + text}
	for _, known := range hostRuns {
		if known.glob == text {
			f.why = "runs on the host later: " + known.who
			if key != "" {
				f.why += " (" + key + ")"
			}
		}
	}
	return f
}

func cutKey(text string) (glob, key string) {
	if i := strings.LastIndexByte(text, '#'); i > 0 {
		return text[:i], text[i+1:]
	}
	return text, ""
}

// flagged says why a person should look twice. What is only removed runs nothing.
func (w *walker) flagged(j *judge, c Change, n named) []string {
	if !c.New.Exists {
		return nil
	}
	var why []string
	for _, f := range j.flags {
		if f.matches(n) && (f.key == "" || w.keyChanged(c, f.key)) {
			why = append(why, f.why)
		}
	}
	return why
}

// maxParsed is the size of a file that is parsed for one key. A larger one is
// flagged without looking.
const maxParsed = 1 << 20

// keyChanged reports whether one key of a JSON or TOML file has another value.
// What cannot be parsed counts as changed.
func (w *walker) keyChanged(c Change, key string) bool {
	if c.Kind == ModeOnly || !c.New.Mode.IsRegular() {
		return c.New.Mode.Type() != c.Old.Mode.Type()
	}
	now, ok := w.value(c, key, true)
	if !ok || !c.Old.Exists || !c.Old.Mode.IsRegular() {
		return !ok || now != nil
	}
	before, ok := w.value(c, key, false)
	return !ok || !reflect.DeepEqual(before, now)
}

func (w *walker) value(c Change, key string, new bool) (value any, ok bool) {
	open := w.OpenOld
	if new {
		open = w.OpenNew
	}
	f, err := open(c)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxParsed+1))
	if err != nil || len(text) > maxParsed {
		return nil, false
	}
	var all map[string]any
	if strings.HasSuffix(lower(c.Path), ".toml") {
		err = toml.Unmarshal(text, &all)
	} else {
		err = json.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &all)
	}
	return all[key], err == nil
}
