package sandbox

import "time"

// ID names a sandbox for ever: lower-case, at most 40 characters, never reused.
type ID string

// Status is where a sandbox is in its life.
//
//	from      to
//	creating  running, error, deleted
//	running   stopped, frozen, error, deleted
//	frozen    running, stopped, error, deleted
//	stopped   running, error, deleted
//	error     running, stopped, deleted
//	deleted   (final; the id answers gone)
type Status string

// The states of the table above.
const (
	Creating Status = "creating"
	Running  Status = "running"
	Frozen   Status = "frozen"
	Stopped  Status = "stopped"
	Failed   Status = "error"
	Deleted  Status = "deleted"
)

func next(s Status) []Status {
	switch s {
	case Creating:
		return []Status{Running, Failed, Deleted}
	case Running:
		return []Status{Stopped, Frozen, Failed, Deleted}
	case Frozen:
		return []Status{Running, Stopped, Failed, Deleted}
	case Stopped:
		return []Status{Running, Failed, Deleted}
	case Failed:
		return []Status{Running, Stopped, Deleted}
	}
	return nil
}

// CanBecome reports whether the step from s to t is in the table.
func (s Status) CanBecome(t Status) bool {
	for _, n := range next(s) {
		if n == t {
			return true
		}
	}
	return false
}

// Valid reports whether s is one of the states.
func (s Status) Valid() bool { return s == Deleted || next(s) != nil }

// ReviewPending and the others are the review outcomes, separate from Status.
const (
	ReviewPending  = "pending"
	ReviewApproved = "approved"
	ReviewPartial  = "partial"
	ReviewRejected = "rejected"
)

// Degraded is one fence that is missing, and why.
type Degraded struct {
	Fence  string `json:"fence"`
	Reason string `json:"reason"`
}

// Failure is the step that put a sandbox into the error state.
type Failure struct {
	Step    string `json:"step"`
	Message string `json:"message"`
}

// Record is what the store keeps of one sandbox. Version grows by one with
// every write; a write with an old version is a conflict.
type Record struct {
	ID             ID         `json:"id"`
	Spec           Spec       `json:"spec"`
	Status         Status     `json:"status"`
	ReviewStatus   string     `json:"reviewStatus"`
	Driver         string     `json:"driver"`
	DriverReason   string     `json:"driverReason,omitempty"`
	Degraded       []Degraded `json:"degraded,omitempty"`
	Failure        *Failure   `json:"failure,omitempty"`
	IDBase         uint32     `json:"idBase,omitempty"` // root mode: host id of uid 0 inside; 0 otherwise
	IdempotencyKey string     `json:"idempotencyKey,omitempty"`
	RequestHash    string     `json:"requestHash,omitempty"` // what the key was first used with
	CreatedAt      time.Time  `json:"createdAt"`
	UpdatedAt      time.Time  `json:"updatedAt"`
	StoppedAt      *time.Time `json:"stoppedAt,omitempty"`
	DeletedAt      *time.Time `json:"deletedAt,omitempty"`
	Version        int64      `json:"version"`
}

// AuditEntry is one line of what happened to a sandbox; every transition of
// Status writes exactly one, in the same transaction.
type AuditEntry struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Sandbox ID        `json:"sandbox"`
	Name    string    `json:"name"`
	Event   string    `json:"event"` // "create", "transition", "exec", "recover", …
	From    Status    `json:"from,omitempty"`
	To      Status    `json:"to,omitempty"`
	Actor   string    `json:"actor,omitempty"` // "uid:1000", "daemon"
	Detail  string    `json:"detail,omitempty"`
	// Project and Paths are the files the line is about, by raw bytes relative to
	// the project. They are written with the line and found by Store.AuditOf.
	Project string   `json:"-"`
	Paths   []string `json:"-"`
}
