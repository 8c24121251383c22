package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coop-dev/coop/api"
)

// TestContract locks the example of the contract in: every key of it is known
// and lands in its field, and no key is known that it does not have.
func TestContract(t *testing.T) {
	data, err := os.ReadFile("testdata/contract.toml")
	if err != nil {
		t.Fatal(err)
	}
	root, problem := parse(&source{name: "coop.toml"}, data)
	if problem != nil {
		t.Fatal(problem)
	}
	more := []string{ // what grew beside the example
		"packages.apk", "packages.dnf", "packages.npm", "packages.pip", "review.commit_author", "review.allow",
		"review.max_file", "review.no_binary", "review.auto_files", "review.auto_lines",
	}
	for _, k := range keys() {
		if !slices.Contains(more, k.name) && root.find(k.name) == nil {
			t.Errorf("%s is not in the contract", k.name)
		}
	}
	for _, k := range mountKeys() {
		if k.name != "seed" && root.find("mounts").list[0].find(k.name) == nil {
			t.Errorf("mounts.%s is not in the contract", k.name)
		}
	}
	want := Config{
		Base:     Base{Image: "host"},
		Packages: Packages{Apt: []string{"git", "ripgrep"}},
		Setup:    Setup{Run: []string{"git config --system init.defaultBranch main"}},
		Agent:    Agent{Command: "claude", Args: []string{}, Install: "npm install -g @anthropic-ai/claude-code", User: "root"},
		Workspace: Workspace{
			Source: ".", Mode: "overlay", Path: "/workspace", Repo: true, Reserve: []string{},
		},
		Env:     map[string]string{"ANTHROPIC_API_KEY": "$ANTHROPIC_API_KEY"},
		Network: Network{Mode: "veth"},
		Session: Session{
			Persist: []string{".claude"}, AutoRestart: true, RestartDelay: api.Duration(100 * time.Millisecond),
			TTL: api.Duration(24 * time.Hour), IdleTimeout: api.Duration(4 * time.Hour),
		},
		Mounts:   []Mount{{Source: "~/.gitconfig", Target: "~/.gitconfig"}},
		Limits:   api.Limits{CPU: 2, Memory: 4 << 30, PIDs: 1024, Disk: 10 << 30, ExecTimeout: api.Duration(2 * time.Minute)},
		Security: api.Security{Seccomp: "default", Optional: []string{}},
		Terminal: Terminal{DetachKey: "ctrl-]", Scrollback: 256 << 10, CtrlCDebounce: api.Duration(500 * time.Millisecond), Block: []string{}},
		Review: Review{
			Deny: []string{".git/**"}, Flag: []string{".envrc", ".vscode/tasks.json", ".github/workflows/**", "package.json#scripts"},
			CommitMessage: "{{.Sandbox}}: {{.Files}} files",
		},
		Driver: Driver{Workspace: "auto", Upper: "disk"},
		Cache:  Cache{Paths: []string{}},
	}
	var got Config // without defaults: each value must come from the file
	var ps problems
	decode(keys(), root, &got, &ps)
	if err := ps.err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{}, Mount{})); diff != "" {
		t.Error(diff)
	}
}

// Every default passes the check of its own key.
func TestDefaultsAreLegal(t *testing.T) {
	c := Defaults()
	for _, k := range keys() {
		if k.check == nil {
			continue
		}
		switch v := k.field(&c).(type) {
		case *string:
			if err := k.check(*v); err != nil && *v != "" {
				t.Errorf("%s: %v", k.name, err)
			}
		case *[]string:
			for _, e := range *v {
				if err := k.check(e); err != nil {
					t.Errorf("%s: %v", k.name, err)
				}
			}
		case *api.Size:
			if err := k.check(*v); err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
		case *int64:
			if err := k.check(*v); err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
		}
	}
}

// write makes files, by their names below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
