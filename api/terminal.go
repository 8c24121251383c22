package api

// Roles of a terminal.
const (
	RoleAgent = "agent" // terminal 0: runs [agent], restarted when it ends
	RoleShell = "shell" // an interactive shell; disappears when it ends
	RoleExec  = "exec"  // one command on a terminal (exec -t, run); disappears when it ends
)

// Terminal is one PTY of a sandbox as the API shows it.
type Terminal struct {
	Number   int    `json:"number"`
	Role     string `json:"role"`
	Command  string `json:"command"`
	PID      int    `json:"pid,omitempty"` // inside; 0 when nothing runs on it
	Cols     int    `json:"cols"`
	Rows     int    `json:"rows"`
	Clients  int    `json:"clients"`
	Running  bool   `json:"running"`
	ExitCode *int   `json:"exitCode,omitempty"` // of the program that ended last
	Signal   string `json:"signal,omitempty"`
	Title    string `json:"title,omitempty"`    // control characters removed
	Restarts int    `json:"restarts,omitempty"` // how often the program was started again
	Failed   string `json:"failed,omitempty"`   // why it is not started again, e.g. the crash-loop guard
	Degraded string `json:"degraded,omitempty"` // why its output cannot be stored at present, e.g. a full disk
}

// TerminalRequest opens a terminal. Without Command it is a login shell.
// Command with Args is executed directly, without Args through the shell.
type TerminalRequest struct {
	Role       string            `json:"role,omitempty"` // shell unless given
	Command    string            `json:"command,omitempty"`
	Args       *[]string         `json:"args,omitempty"`
	Env        map[string]string `json:"env,omitempty"` // TERM, COLORTERM, LANG of the client go here
	WorkingDir string            `json:"workingDir,omitempty"`
	User       string            `json:"user,omitempty"`
	Cols       int               `json:"cols,omitempty"`
	Rows       int               `json:"rows,omitempty"`
	Reuse      bool              `json:"reuse,omitempty"`     // role shell: answer a live one if there is one (200 instead of 201)
	OnExit     string            `json:"onExit,omitempty"`    // role exec: as in ExecRequest
	TimeoutMs  int64             `json:"timeoutMs,omitempty"` // role exec
}

// ResizeRequest is the body of POST …/terminals/{n}/resize.
type ResizeRequest struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// RestartRequest is the optional body of POST /sandboxes/{id}/restart and
// …/terminals/{n}/restart: what coop.toml says now.
type RestartRequest struct {
	Agent   *Agent            `json:"agent,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Session *Session          `json:"session,omitempty"`
}

// Session decides about terminal 0 and how terminals behave. Pointers and
// zeroes mean the defaults of coop.toml.
type Session struct {
	AutoRestart   *bool    `json:"autoRestart,omitempty"`
	RestartDelay  Duration `json:"restartDelay,omitempty"`
	Scrollback    Size     `json:"scrollback,omitempty"`
	CtrlCDebounce Duration `json:"ctrlCDebounce,omitempty"` // web clients on terminal 0
	Block         []string `json:"block,omitempty"`         // byte sequences web clients may not send
}
