package api

import "time"

// Check is one thing the host can or cannot do.
type Check struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Required bool   `json:"required"`
	Detail   string `json:"detail,omitempty"`
	Hint     string `json:"hint,omitempty"`
}

// Doctor is the answer of GET /doctor.
type Doctor struct {
	OK     bool    `json:"ok"` // a sandbox can be made safely
	Mode   string  `json:"mode"`
	Checks []Check `json:"checks"`
}

// Health is the answer of GET /health.
type Health struct {
	Status    string  `json:"status"` // ok | degraded
	Driver    string  `json:"driver"` // overlayfs | sqlite | copy
	Sandboxes int     `json:"sandboxes"`
	Running   int     `json:"running"`
	Checks    []Check `json:"checks"`
	// Notes are what somebody should know who looks: an approve that was
	// interrupted and how it was ended. A review of that sandbox takes them away.
	Notes []string `json:"notes,omitempty"`
}

// Version is the answer of GET /version.
type Version struct {
	Version   string    `json:"version"`
	Commit    string    `json:"commit,omitempty"`
	Go        string    `json:"go"`
	API       string    `json:"api"`
	PID       int       `json:"pid"`
	Mode      string    `json:"mode"` // root | user | user-single-id
	Home      string    `json:"home"`
	StartedAt time.Time `json:"startedAt"`
}

// AuditEntry is one line of GET /audit.
type AuditEntry struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Sandbox string    `json:"sandbox"`
	Name    string    `json:"name,omitempty"`
	Event   string    `json:"event"`
	From    string    `json:"from,omitempty"`
	To      string    `json:"to,omitempty"`
	Actor   string    `json:"actor,omitempty"`
	Detail  string    `json:"detail,omitempty"`
}
