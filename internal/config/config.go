package config

import (
	"time"

	"github.com/coop-dev/coop/api"
)

// Config is coop.toml with everything that stands under it. Its fields hold the
// built-in defaults where no file says otherwise; IsSet tells the two apart.
type Config struct {
	// Dir is the project: the directory of the coop.toml that was found, or the
	// current one.
	Dir string
	// Files are those that were read, from the lowest layer up.
	Files []string
	// Ignored are files that were found and not read.
	Ignored []Ignored

	Base      Base
	Packages  Packages
	Setup     Setup
	Agent     Agent
	Workspace Workspace
	Env       map[string]string // not yet expanded: see Environ
	Network   Network
	Session   Session
	Mounts    []Mount
	Limits    api.Limits
	Security  api.Security
	Terminal  Terminal
	Review    Review
	Driver    Driver
	Cache     Cache

	root *node // the merged files
	home string
}

// Ignored is a file that was not read, and why.
type Ignored struct{ File, Reason, Hint string }

// Base is what the root filesystem is made of.
type Base struct{ Image string }

// Packages are installed when the base is built.
type Packages struct{ Apt, Apk, Dnf, Npm, Pip []string }

// Setup are commands that run when the base is built.
type Setup struct{ Run []string }

// Agent is the program of terminal 0.
type Agent struct {
	Command, Install, User string
	Args                   []string
}

// Workspace is where the project's files come from and where they are seen.
type Workspace struct {
	Source, Mode, Path, Commit string
	Repo                       bool
	Reserve                    []string
}

// Network is what a sandbox can reach.
type Network struct{ Mode string }

// Session is how long a sandbox lives and what it keeps.
type Session struct {
	Persist                        []string
	AutoRestart                    bool
	RestartDelay, TTL, IdleTimeout api.Duration
}

// Terminal is how terminals behave.
type Terminal struct {
	DetachKey     string
	Scrollback    api.Size
	CtrlCDebounce api.Duration
	Block         []string
}

// Review is what may become of changes.
type Review struct {
	Deny, Flag, Allow                  []string
	Check, CommitMessage, CommitAuthor string
	MaxFile                            api.Size
	NoBinary                           bool
	AutoFiles, AutoLines               int64
}

// Driver chooses the way of copy-on-write.
type Driver struct{ Workspace, Upper string }

// Cache are directories that sandboxes share, copy-on-write.
type Cache struct{ Paths []string }

// Defaults is a Config without any file.
func Defaults() Config {
	return Config{
		Base:      Base{Image: "host"},
		Agent:     Agent{User: "root"},
		Workspace: Workspace{Source: ".", Mode: "overlay", Path: "/workspace", Repo: true},
		Network:   Network{Mode: "none"},
		Session: Session{
			Persist: []string{".claude"}, AutoRestart: true, RestartDelay: api.Duration(100 * time.Millisecond),
			TTL: api.Duration(24 * time.Hour), IdleTimeout: api.Duration(4 * time.Hour),
		},
		Limits:   api.Limits{PIDs: 1024},
		Security: api.Security{Seccomp: "default"},
		Terminal: Terminal{DetachKey: "ctrl-]", Scrollback: 256 << 10, CtrlCDebounce: api.Duration(500 * time.Millisecond)},
		Review: Review{
			Deny:          []string{".git/**"},
			Flag:          []string{".envrc", ".vscode/tasks.json", ".github/workflows/**", "package.json#scripts"},
			CommitMessage: "{{.Sandbox}}: {{.Files}} files",
		},
		Driver: Driver{Workspace: "auto", Upper: "disk"},
	}
}

// IsSet reports whether a file sets a key such as "base.image", or anything in
// a table such as "packages".
func (c *Config) IsSet(key string) bool { return c.root.find(key) != nil }

// anySet reports whether a file sets one of the keys.
func (c *Config) anySet(keys ...string) bool {
	for _, k := range keys {
		if c.IsSet(k) {
			return true
		}
	}
	return false
}

// at is where the value of a key that is set stands.
func (c *Config) at(key string) place { return c.root.find(key).value }
