package terminal

import (
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Bounds of a window. The kernel would take 65535, and a screen of that size
// would take gigabytes.
const (
	MaxCols = 1000
	MaxRows = 500

	defaultScrollback = 256 << 10

	defaultCols = 80
	defaultRows = 24
)

// Roles of a terminal, as the API names them.
const (
	RoleAgent = "agent"
	RoleShell = "shell"
	RoleExec  = "exec"
)

// Request asks the engine for a terminal. It was validated by the server as
// far as that is possible without the sandbox.
type Request struct {
	Role       string // RoleShell or RoleExec
	Command    string // empty: a login shell
	Args       []string
	Direct     bool // execute Command with Args; otherwise sh -c Command
	Env        map[string]string
	WorkingDir string
	User       string
	Cols, Rows int    // 0: 80 × 24
	Reuse      bool   // RoleShell: a live one if there is one
	OnExit     string // RoleExec: keep, remove, removeIfUnchanged
	Timeout    time.Duration
}

// Restart is what coop.toml says now; nil leaves a part as it is.
type Restart struct {
	Agent   *sandbox.Agent
	Env     map[string]string
	Session *sandbox.Session
}

// Status is how a program on a terminal ended.
type Status struct {
	Code     int    // 128+signal when it was killed
	Signal   string // "SIGKILL", empty when it exited by itself
	TimedOut bool
	Duration time.Duration
	Kept     *bool // RoleExec with OnExit: whether the sandbox still exists
}

// ValidSize reports whether a window of that size may be asked for.
func ValidSize(cols, rows int) bool {
	return cols > 0 && rows > 0 && cols <= MaxCols && rows <= MaxRows
}
