package api

import "time"

// ReviewPolicy is [review] of coop.toml: what decides about changes before a
// person does. It is fixed when the sandbox is made.
type ReviewPolicy struct {
	Deny          []string     `json:"deny,omitempty"`          // globs, listed as denied and never applied; [".git/**"] unless given
	Flag          []string     `json:"flag,omitempty"`          // globs, or "glob#key" for one key of a JSON file
	Allow         []string     `json:"allow,omitempty"`         // when given, everything else is denied
	Check         string       `json:"check,omitempty"`         // command in the sandbox that must succeed before anything is applied
	CommitMessage string       `json:"commitMessage,omitempty"` // template: {{.Sandbox}} {{.Files}} {{.Paths}} {{.Reviewer}}
	CommitAuthor  string       `json:"commitAuthor,omitempty"`  // agent, reviewer (default) or coauthor
	MaxFileBytes  Size         `json:"maxFileBytes,omitempty"`  // larger new files are denied
	NoBinary      bool         `json:"noBinary,omitempty"`      // new binary content is denied
	AutoApprove   *AutoApprove `json:"autoApprove,omitempty"`   // off unless given
}

// AutoApprove lets small changes through without a person: approve with
// auto:true applies everything that is pending only when all of it stays within
// these bounds and nothing is flagged, binary or in conflict.
type AutoApprove struct {
	MaxFiles int `json:"maxFiles"`
	MaxLines int `json:"maxLines"` // added and removed together
}

// HunkRef names one hunk of the diff as it is now. ID, when given, is what the
// diff called it: the hunk is then found by it even when its index has moved,
// and a hunk that is no longer there is a conflict.
type HunkRef struct {
	FilePath       string `json:"filePath,omitempty"`
	FilePathBase64 string `json:"filePathBase64,omitempty"` // instead, for a name that is not UTF-8
	Index          int    `json:"index"`
	ID             string `json:"id,omitempty"`
	Parts          []int  `json:"parts,omitempty"` // of a hunk that was split: which runs of changed lines, counted from 0; none means all
}

// ApproveRequest applies changes to the project. Without files and hunks it is
// about everything that is pending and not flagged.
type ApproveRequest struct {
	Files       []string  `json:"files,omitempty"`       // files, and directories with all that is in them
	FilesBase64 []string  `json:"filesBase64,omitempty"` // more of them, whose names are not UTF-8
	Hunks       []HunkRef `json:"hunks,omitempty"`
	// Fingerprints are what the diff said of files, by path: a file that was
	// written to since is a conflict, so that nothing arrives that was not seen.
	Fingerprints map[string]string `json:"fingerprints,omitempty"`
	Flagged      bool              `json:"flagged,omitempty"` // flagged files are part of "everything" too
	Force        bool              `json:"force,omitempty"`   // overwrite what has changed on both sides; a copy is kept
	Auto         bool              `json:"auto,omitempty"`    // only within the policy's autoApprove
	Commit       *CommitRequest    `json:"commit,omitempty"`
	Commits      bool              `json:"commits,omitempty"` // take over the agent's own git commits
	Version      int64             `json:"version,omitempty"` // of the sandbox; another one is a conflict
}

// CommitRequest asks for a git commit of exactly what is applied. Author is
// "agent", "reviewer", "coauthor" or "Name <address>".
type CommitRequest struct {
	Message string `json:"message,omitempty"` // the policy's template unless given
	Author  string `json:"author,omitempty"`
}

// ApproveResult says what happened. Applied and the other lists hold paths as
// the diff shows them.
type ApproveResult struct {
	Applied    []string    `json:"applied"`
	Remaining  int         `json:"remaining"`         // changes that are still pending
	Flagged    []string    `json:"flagged,omitempty"` // left out because nobody confirmed them
	Conflicts  []Conflict  `json:"conflicts"`         // merged or, with force, overwritten
	CommitHash string      `json:"commitHash,omitempty"`
	Notes      []string    `json:"notes,omitempty"` // what else a person should know, a recovery for instance
	Sandbox    *ReviewView `json:"sandbox,omitempty"`
}

// ReviewView is where the sandbox's review is after a request.
type ReviewView struct {
	ReviewStatus string `json:"reviewStatus"`
	Version      int64  `json:"version"`
}

// Conflict is a file that has changed on both sides.
type Conflict struct {
	FilePath    string `json:"filePath"`
	Reason      string `json:"reason"`
	Resolution  string `json:"resolution"`            // merges, refused; of an approve: merged, overwritten
	Base        string `json:"base"`                  // known, unknown, absent
	ProjectDiff string `json:"projectDiff,omitempty"` // base to project, where the base is known
	SandboxDiff string `json:"sandboxDiff,omitempty"` // base to workspace; project to workspace where the base is unknown
	Saved       string `json:"saved,omitempty"`       // overwritten: where the project's file was copied to
}

// ConflictsResult is the answer of GET /sandboxes/{id}/conflicts.
type ConflictsResult struct {
	Conflicts []Conflict `json:"conflicts"`
	Notes     []string   `json:"notes,omitempty"`
}

// DiscardRequest drops changes from the workspace: the files are again what
// the project has.
type DiscardRequest struct {
	Files       []string `json:"files,omitempty"`
	FilesBase64 []string `json:"filesBase64,omitempty"`
	Version     int64    `json:"version,omitempty"`
}

// RejectRequest is the optional body of reject, which drops everything.
type RejectRequest struct {
	Version int64 `json:"version,omitempty"`
}

// DiscardResult is the answer of discard and reject.
type DiscardResult struct {
	Discarded []string    `json:"discarded"`
	Remaining int         `json:"remaining"`
	Notes     []string    `json:"notes,omitempty"`
	Sandbox   *ReviewView `json:"sandbox,omitempty"`
}

// RebaseRequest takes the project's present state as the new base. What has
// changed on both sides is merged into the workspace; what cannot be merged
// stays a conflict, unless force says that the workspace's version counts.
type RebaseRequest struct {
	Force   bool  `json:"force,omitempty"`
	Version int64 `json:"version,omitempty"`
}

// RebaseResult is the answer of rebase.
type RebaseResult struct {
	Base      time.Time   `json:"base"` // from when on a change of the project counts as one
	Merged    []string    `json:"merged"`
	Conflicts []Conflict  `json:"conflicts"`
	Notes     []string    `json:"notes,omitempty"`
	Sandbox   *ReviewView `json:"sandbox,omitempty"`
}
