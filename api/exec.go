package api

// ExecRequest runs one command. With Args the command is executed directly,
// without Args through the sandbox's shell; a pointer, because an empty list
// and no list differ.
type ExecRequest struct {
	Command        string            `json:"command"`
	Args           *[]string         `json:"args,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	WorkingDir     string            `json:"workingDir,omitempty"`
	User           string            `json:"user,omitempty"`
	Stdin          string            `json:"stdin,omitempty"`
	StdinEncoding  string            `json:"stdinEncoding,omitempty"` // "base64" for bytes that are not UTF-8
	TimeoutMs      int64             `json:"timeoutMs,omitempty"`
	AllowNetwork   *bool             `json:"allowNetwork,omitempty"`
	Shell          string            `json:"shell,omitempty"`
	MaxOutputBytes int64             `json:"maxOutputBytes,omitempty"`

	// Attach only. Interactive keeps stdin open for frames; OnExit says what
	// becomes of the sandbox when the command has ended or its client has
	// vanished: "" or "keep", "remove", "removeIfUnchanged".
	Interactive bool   `json:"interactive,omitempty"`
	OnExit      string `json:"onExit,omitempty"`
}

// ExecResult is what became of a command. Stdout and Stderr are base64 when
// Encoding says so: output that is not UTF-8 cannot stand in JSON.
type ExecResult struct {
	ExitCode   int    `json:"exitCode"`
	Signal     string `json:"signal,omitempty"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	Encoding   string `json:"encoding,omitempty"`
	Truncated  bool   `json:"truncated"`
	TimedOut   bool   `json:"timedOut"`
	DurationMs int64  `json:"durationMs"`
	Cwd        string `json:"cwd,omitempty"`
}

// Process is one process inside a sandbox, with pids as the sandbox sees them.
type Process struct {
	PID       int    `json:"pid"`
	PPID      int    `json:"ppid"`
	UID       int    `json:"uid"`
	State     string `json:"state"`
	Command   string `json:"command"`
	CPUMs     int64  `json:"cpuMs"`
	RSSBytes  int64  `json:"rssBytes"`
	Exec      string `json:"exec,omitempty"` // id of the exec whose main process it is
	StartedMs int64  `json:"startedMs"`      // age of the process
}
