package api

import "time"

// CreateRequest asks for a sandbox. Everything is optional; {"scopePath": dir}
// alone makes an overlay sandbox of that directory.
type CreateRequest struct {
	Name        string            `json:"name,omitempty"`
	ScopePath   string            `json:"scopePath,omitempty"`
	Workspace   *Workspace        `json:"workspace,omitempty"`
	Image       string            `json:"image,omitempty"`
	Build       *Build            `json:"build,omitempty"` // use the base that was built from Image with this
	Env         map[string]string `json:"env,omitempty"`
	Network     *Network          `json:"network,omitempty"`
	Limits      *Limits           `json:"limits,omitempty"`
	Security    *Security         `json:"security,omitempty"`
	Agent       *Agent            `json:"agent,omitempty"`
	Session     *Session          `json:"session,omitempty"`
	Mounts      []Mount           `json:"mounts,omitempty"`
	Driver      string            `json:"driver,omitempty"`
	TTL         Duration          `json:"ttl,omitempty"`
	IdleTimeout Duration          `json:"idleTimeout,omitempty"`
	Owner       string            `json:"owner,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Metadata    map[string]any    `json:"metadata,omitempty"`
	Review      *ReviewPolicy     `json:"review,omitempty"`
	// Persist are directories below the sandbox's home that are kept for the
	// project; nil is the default, [".claude"].
	Persist *[]string `json:"persist,omitempty"`
	Cache   []string  `json:"cache,omitempty"` // shared package caches: paths inside, or words such as npm
	Upper   string    `json:"upper,omitempty"` // disk or tmpfs
}

// Workspace is the project's files as the sandbox sees them. Repo is a pointer
// because leaving it out means true for mode overlay.
type Workspace struct {
	Source  string   `json:"source,omitempty"`
	Mode    string   `json:"mode,omitempty"`
	Path    string   `json:"path,omitempty"`
	Repo    *bool    `json:"repo,omitempty"`
	Commit  string   `json:"commit,omitempty"`
	Reserve []string `json:"reserve,omitempty"`
}

// Network chooses what a sandbox can reach.
type Network struct {
	Mode    string   `json:"mode,omitempty"`
	Allow   []string `json:"allow,omitempty"`
	Deny    []string `json:"deny,omitempty"`
	Publish []string `json:"publish,omitempty"`
}

// Limits bound what a sandbox may use; a limit set here fails closed where the
// host cannot enforce it.
type Limits struct {
	CPU         float64  `json:"cpu,omitempty"`
	Memory      Size     `json:"memory,omitempty"`
	PIDs        int64    `json:"pids,omitempty"`
	Disk        Size     `json:"disk,omitempty"`
	ExecTimeout Duration `json:"execTimeout,omitempty"`
}

// Security chooses fences; Optional names those that may be missing.
type Security struct {
	Seccomp      string   `json:"seccomp,omitempty"`
	ReadonlyRoot bool     `json:"readonlyRoot,omitempty"`
	Optional     []string `json:"optional,omitempty"`
}

// Agent is the program of terminal 0 and the user everything runs as.
type Agent struct {
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	User    string   `json:"user,omitempty"`
}

// Mount is a host path or a volume made visible inside.
type Mount struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Write  bool   `json:"write,omitempty"`
	Seed   string `json:"seed,omitempty"` // volume: host path that its first content is copied from
}

// Degraded is one fence that this sandbox does not have, and why.
type Degraded struct {
	Fence  string `json:"fence"`
	Reason string `json:"reason"`
}

// Failure is the step that put a sandbox into the error state.
type Failure struct {
	Step    string `json:"step"`
	Message string `json:"message"`
}

// Sandbox is one sandbox as the API shows it.
type Sandbox struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Status       string            `json:"status"`
	ReviewStatus string            `json:"reviewStatus"`
	Image        string            `json:"image"`
	Base         string            `json:"base,omitempty"` // digest of the base it was made from
	Driver       string            `json:"driver"`
	DriverReason string            `json:"driverReason,omitempty"`
	Workspace    Workspace         `json:"workspace"`
	MergedDir    string            `json:"mergedDir"`
	Network      Network           `json:"network"`
	Limits       Limits            `json:"limits"`
	Security     Security          `json:"security"`
	Agent        Agent             `json:"agent"`
	Env          []string          `json:"env,omitempty"` // names only: values may be secrets
	Owner        string            `json:"owner,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Metadata     map[string]any    `json:"metadata,omitempty"`
	Mounts       []Mount           `json:"mounts,omitempty"`
	Persist      []string          `json:"persist,omitempty"`
	Cache        []string          `json:"cache,omitempty"`
	Upper        string            `json:"upper,omitempty"`
	Degraded     []Degraded        `json:"degraded"`
	Failure      *Failure          `json:"failure,omitempty"`
	PID          int               `json:"pid,omitempty"` // PID 1, as the host counts
	CreatedAt    time.Time         `json:"createdAt"`
	UpdatedAt    time.Time         `json:"updatedAt"`
	StoppedAt    *time.Time        `json:"stoppedAt,omitempty"`
	ExpiresAt    *time.Time        `json:"expiresAt,omitempty"`
	Version      int64             `json:"version"`
}

// List is the shape of every list answer.
type List[T any] struct {
	Items      []T    `json:"items"`
	Total      int    `json:"total"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// StopRequest is the optional body of stop; Grace is how long programs may take
// after SIGTERM (default 5s).
type StopRequest struct {
	Grace   Duration `json:"grace,omitempty"`
	Version int64    `json:"version,omitempty"`
}
