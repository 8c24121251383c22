package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Found is what a directory and the host tell about a new coop.toml.
type Found struct {
	Dir       string    `json:"dir"`
	Agent     *Program  `json:"agent,omitempty"`
	Languages []Toolkit `json:"languages,omitempty"`
	Git       string    `json:"git,omitempty"` // the repository's top directory
}

// Program is an agent that is installed here.
type Program struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Visible bool   `json:"visible"` // a sandbox of image host sees it
	Key     string `json:"key"`     // the variable its provider's key is in
	State   string `json:"state"`   // where it keeps its settings, below the home
}

// Toolkit is a language or a package manager and how a project of it is set up
// and checked.
type Toolkit struct {
	Name   string `json:"name"`
	File   string `json:"file"` // what gave it away
	Setup  string `json:"setup,omitempty"`
	Check  string `json:"check,omitempty"`
	Caches string `json:"-"`
}

// agents that are looked for, in the order in which one is chosen.
func agents() []Program {
	return []Program{
		{Name: "claude", Key: "ANTHROPIC_API_KEY", State: ".claude"},
		{Name: "codex", Key: "OPENAI_API_KEY", State: ".codex"},
		{Name: "gemini", Key: "GEMINI_API_KEY", State: ".gemini"},
		{Name: "opencode", Key: "ANTHROPIC_API_KEY", State: ".config/opencode"},
		{Name: "aider", Key: "OPENAI_API_KEY", State: ".aider"},
		{Name: "goose", Key: "OPENAI_API_KEY", State: ".config/goose"},
		{Name: "amp", Key: "AMP_API_KEY", State: ".config/amp"},
		{Name: "crush", Key: "ANTHROPIC_API_KEY", State: ".config/crush"},
		{Name: "cursor-agent", Key: "CURSOR_API_KEY", State: ".cursor"},
		{Name: "qwen", Key: "OPENAI_API_KEY", State: ".qwen"},
	}
}

// toolkits by the file that gives them away. Of one Name the first file that is
// there counts, so that a lock file decides about the package manager.
func toolkits() []Toolkit {
	return []Toolkit{
		{"Go", "go.mod", "go mod download", "go test ./...", "~/go/pkg/mod"},
		{"Rust", "Cargo.toml", "cargo fetch", "cargo test", "~/.cargo/registry"},
		{"JavaScript, pnpm", "pnpm-lock.yaml", "pnpm install --frozen-lockfile", "pnpm test", "~/.local/share/pnpm/store"},
		{"JavaScript, Yarn", "yarn.lock", "yarn install --immutable", "yarn test", "~/.cache/yarn"},
		{"JavaScript, Bun", "bun.lock", "bun install --frozen-lockfile", "bun test", "~/.bun/install/cache"},
		{"JavaScript, Bun", "bun.lockb", "bun install --frozen-lockfile", "bun test", "~/.bun/install/cache"},
		{"JavaScript, npm", "package-lock.json", "npm ci", "npm test", "~/.npm"},
		{"JavaScript, npm", "package.json", "npm install", "npm test", "~/.npm"},
		{"Deno", "deno.json", "deno install", "deno test", "~/.cache/deno"},
		{"Python, uv", "uv.lock", "uv sync --frozen", "uv run pytest", "~/.cache/uv"},
		{"Python, Poetry", "poetry.lock", "poetry install", "poetry run pytest", "~/.cache/pypoetry"},
		{"Python, Pipenv", "Pipfile", "pipenv install --dev", "pipenv run pytest", "~/.cache/pipenv"},
		{"Python, pip", "requirements.txt", "pip install -r requirements.txt", "python3 -m pytest", "~/.cache/pip"},
		{"Python, pip", "pyproject.toml", "pip install -e .", "python3 -m pytest", "~/.cache/pip"},
		{"Python, pip", "setup.py", "pip install -e .", "python3 -m pytest", "~/.cache/pip"},
		{"Ruby, Bundler", "Gemfile", "bundle install", "bundle exec rake test", "~/.bundle"},
		{"Java, Maven", "pom.xml", "mvn -q dependency:go-offline", "mvn -q verify", "~/.m2"},
		{"Java, Gradle", "build.gradle.kts", "./gradlew dependencies", "./gradlew check", "~/.gradle/caches"},
		{"Java, Gradle", "build.gradle", "./gradlew dependencies", "./gradlew check", "~/.gradle/caches"},
		{"PHP, Composer", "composer.json", "composer install", "vendor/bin/phpunit", "~/.cache/composer"},
		{"Elixir, Mix", "mix.exs", "mix deps.get", "mix test", "~/.hex"},
		{"Dart, Pub", "pubspec.yaml", "dart pub get", "dart test", "~/.pub-cache"},
		{".NET", "global.json", "dotnet restore", "dotnet test", "~/.nuget/packages"},
		{"Haskell, Cabal", "cabal.project", "cabal build --only-dependencies", "cabal test", "~/.cabal/packages"},
		{"Zig", "build.zig", "", "zig build test", ""},
		{"C or C++, CMake", "CMakeLists.txt", "cmake -B build", "cmake --build build && ctest --test-dir build", ""},
		{"C or C++, Meson", "meson.build", "meson setup build", "meson test -C build", ""},
		{"Make", "Makefile", "", "make test", ""},
	}
}

// Detect looks at a directory and at the programs of PATH. It runs nothing and
// reads no file but package.json.
func Detect(dir string, path []string) Found {
	return Found{Dir: dir, Agent: findAgent(path), Languages: findToolkits(dir), Git: gitTop(dir)}
}

// findAgent prefers one that a sandbox sees.
func findAgent(path []string) *Program {
	var hidden *Program
	for _, a := range agents() {
		a.Path = lookPath(a.Name, path)
		if a.Path == "" {
			continue
		}
		if a.Visible = visible(a.Path); a.Visible {
			return &a
		}
		if hidden == nil {
			hidden = &a
		}
	}
	return hidden
}

// lookPath skips directories that are not absolute: "." in PATH would make a
// file of the project an agent.
func lookPath(name string, path []string) string {
	for _, dir := range path {
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// visible reports whether image host shows a file and what it leads to.
func visible(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return false
	}
	return inSystem(file) && inSystem(real)
}

func inSystem(file string) bool {
	for _, top := range []string{"/usr/", "/bin/", "/sbin/", "/opt/"} {
		if strings.HasPrefix(file, top) {
			return true
		}
	}
	return false
}

func findToolkits(dir string) []Toolkit {
	var all []Toolkit
	for _, k := range toolkits() {
		st, err := os.Stat(filepath.Join(dir, k.File))
		if err != nil || !st.Mode().IsRegular() || knows(all, k) {
			continue
		}
		if k.File == "package.json" || strings.HasPrefix(k.Name, "JavaScript") {
			k.Check = scriptCheck(dir, k.Check)
		}
		all = append(all, k)
	}
	return all
}

// knows: one package manager is enough for a language, and a Makefile says
// nothing where a language is known.
func knows(all []Toolkit, k Toolkit) bool {
	return slices.ContainsFunc(all, func(have Toolkit) bool { return language(have) == language(k) || k.Name == "Make" })
}

func language(k Toolkit) string {
	name, _, _ := strings.Cut(k.Name, ",")
	return name
}

// scriptCheck is empty for a package.json that has no test script.
func scriptCheck(dir, check string) string {
	data, err := readAny(filepath.Join(dir, "package.json"))
	if err != nil {
		return check
	}
	var p struct {
		Scripts map[string]any `json:"scripts"`
	}
	if json.Unmarshal(data, &p) == nil && p.Scripts["test"] == nil {
		return ""
	}
	return check
}

// gitTop is the repository that dir is part of. A worktree and a submodule have
// a file instead of a directory.
func gitTop(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Above is the coop.toml that counts in a directory that has none, or "".
func Above(dir, home string) string {
	for dir != home && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if dir == home || dir == filepath.Dir(dir) {
			break
		}
		if _, err := os.Lstat(filepath.Join(dir, Name)); err == nil {
			return filepath.Join(dir, Name)
		}
	}
	return ""
}
