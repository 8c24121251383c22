package changes

import (
	"io/fs"
	"time"
)

// Kind says what happened to one path. The words are the API's changeType.
type Kind string

// The kinds of changes.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
	Renamed  Kind = "renamed" // OldPath is where it was; content may have changed too
	ModeOnly Kind = "mode"    // same content, other permissions
	Type     Kind = "type"    // file ↔ directory ↔ link
)

// State is one side of a change: what is (or was) at a path. The zero value
// means that nothing is there.
type State struct {
	Exists bool
	Mode   fs.FileMode // type and permission bits
	Size   int64
	MTime  time.Time
	Link   string // target of a symbolic link
}

// Change is one difference between a workspace and what it was made from.
// Paths are relative, slash-separated, raw bytes: a name may hold anything but
// a slash and NUL.
type Change struct {
	Path    string
	OldPath string // Renamed
	Kind    Kind
	Old     State // in the project
	New     State // in the workspace
	Binary  bool
	Large   bool     // too large for a textual diff: summarised
	Flagged []string // why a person should look twice ("runs on the host later: …")
	Denied  string   // policy that keeps it from ever being applied (".git/**"); "" when pending
	Refused string   // why it can never be applied: a device, a fifo, a socket, setuid, …
}
