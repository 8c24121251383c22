package engine

import (
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// View is a record with what only the running daemon knows of it.
type View struct {
	sandbox.Record
	PID       int    // PID 1 as the host counts; 0 when not running
	MergedDir string // where the merged tree would be; empty outside the sandbox
}

// CreateOptions go with a create and are not part of what is made.
type CreateOptions struct {
	IdempotencyKey string
	RequestHash    string // of the canonical request, set with IdempotencyKey
	Actor          string // "uid:1000"

	image *sandbox.ImageConfig // of a build, which knows better than the spec
}

// Filter narrows a list; zero fields do not narrow.
type Filter struct {
	Status sandbox.Status
	Owner  string
	Labels map[string]string
	Path   string
	Limit  int
	Cursor string
}

// Page is one page of a list; Total counts all that match.
type Page struct {
	Views []View
	Total int
	Next  string
}

// Outcome is how a command ended. Code is 128+signal when it was killed.
type Outcome struct {
	Code     int
	Signal   string // "SIGKILL", empty when it exited by itself
	TimedOut bool
	Duration time.Duration
}

// Process is one process inside a sandbox, pids as the sandbox counts.
type Process struct {
	PID, PPID, UID int
	State          string
	Command        string
	CPU            time.Duration
	RSSBytes       int64
	Exec           string
	Age            time.Duration
}

// Health summarises the daemon.
type Health struct {
	Sandboxes, Running int
	Driver             string
}
