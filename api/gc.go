package api

import "time"

// GCRequest says which sandboxes may be reclaimed. Statuses narrow; of
// OlderThan, Idle and MaxTotalBytes each is a reason of its own, and without any
// of them the status is reason enough. A sandbox with changes that nobody has
// reviewed is never collected, unless Sandboxes names it.
type GCRequest struct {
	OlderThan     Duration `json:"olderThan,omitempty"`     // made longer ago
	Idle          Duration `json:"idle,omitempty"`          // nothing happened to it for longer
	MaxTotalBytes Size     `json:"maxTotalBytes,omitempty"` // the longest idle go until all together take no more
	Statuses      []string `json:"statuses,omitempty"`      // stopped and error unless given
	Sandboxes     []string `json:"sandboxes,omitempty"`     // these, whatever else is said
	DryRun        bool     `json:"dryRun,omitempty"`        // say what would be collected
}

// GCResult is the answer of POST /gc.
type GCResult struct {
	Collected  []Collected `json:"collected"`
	Kept       []Collected `json:"kept"` // those that a reason hit but that have to stay, and why
	TotalBytes int64       `json:"totalBytes"`
	FreedBytes int64       `json:"freedBytes"`
	DryRun     bool        `json:"dryRun"`
}

// Collected is one sandbox of a GCResult.
type Collected struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Reason    string    `json:"reason"`
	Bytes     int64     `json:"bytes"`
	CreatedAt time.Time `json:"createdAt"`
}
