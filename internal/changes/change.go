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
	Modified Kind = "modified" // content, or the target of a link; the mode may differ too
	Deleted  Kind = "deleted"
	Renamed  Kind = "renamed" // OldPath is where it was; content and mode may have changed too
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
//
// Directories are changes of their own (added, deleted, mode, type), listed
// beside the files in them, so that a list says exactly what the tree becomes.
// The one exception is a tree denied as a whole (".git"): it is one change.
type Change struct {
	Path       string
	OldPath    string // Renamed
	Kind       Kind
	Old        State    // in the project
	New        State    // in the workspace
	Binary     bool     // a NUL in the first 8000 bytes of either side, git's rule
	Large      bool     // too large for a textual diff: summarised
	Unreadable string   // why the content cannot be read; summarised
	Similarity int      // Renamed: percent, 100 when the content is the same
	Flagged    []string // why a person should look twice ("runs on the host later: …")
	Denied     string   // policy that keeps it from ever being applied (".git/**"); "" when pending
	Refused    string   // why it can never be applied: a device, a fifo, a socket, setuid, …

	// Fingerprint is how both sides looked when the list was made, for who wants
	// to approve exactly that. It is set by whoever shows the list to people.
	Fingerprint string

	// from is where the workspace's content lies when it is not in the layer: a
	// file of a renamed directory is still the project's, at its old path.
	from string

	kept *kept // content of small files, as it was when the list was made
}

// oldPath is where the change's old side is in the project.
func (c Change) oldPath() string {
	if c.Kind == Renamed {
		return c.OldPath
	}
	return c.Path
}

// Borrowed tells where in the project the workspace's content of this path still
// lies: a renamed directory of an overlay keeps its files there (redirect_dir).
// Whoever changes the project at that place takes the content from the workspace.
func (c Change) Borrowed() (path string, ok bool) { return c.from, c.from != "" }

// Pending reports whether the change may be applied: neither denied nor refused.
func (c Change) Pending() bool { return c.Denied == "" && c.Refused == "" }

// Dir reports whether the change is about a directory alone.
func (c Change) Dir() bool {
	return (c.New.Mode.IsDir() || !c.New.Exists) && (c.Old.Mode.IsDir() || !c.Old.Exists)
}
