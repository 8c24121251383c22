package changes

import (
	"context"
	"os"

	"github.com/coop-dev/coop/internal/changes/patch"
)

// Layer is where a driver keeps what a sandbox wrote to its workspace.
type Layer struct {
	Dir      string // an overlay's upper layer, or the copy
	Trusted  bool   // overlay of real root: the kernel's notes are trusted.overlay.*, otherwise user.overlay.*
	Manifest string // the copy's manifest; empty for an overlay
}

// Workspace is an opened project and the layer over it. It only reads.
type Workspace struct {
	project, layer *os.File
	kind           Layer
}

// Open opens both. A project that is gone is fs.ErrNotExist.
func Open(project string, l Layer) (*Workspace, error) { panic("soon") }

// Close lets go of both; it may be called twice.
func (w *Workspace) Close() error { panic("soon") }

// Options narrow and judge a list.
type Options struct {
	Paths  []string // only these files and what lies below these directories; none means all
	Policy *Policy  // nil: DefaultPolicy
	Limits Limits   // zero fields are DefaultLimits
}

// List gives every difference, sorted by the raw bytes of the path.
func (w *Workspace) List(ctx context.Context, o Options) ([]Change, error) { panic("soon") }

// Any reports whether there is a difference at all; it stops at the first.
func (w *Workspace) Any(ctx context.Context) (bool, error) { panic("soon") }

// OpenOld opens the content a change had in the project, OpenNew what it has in
// the workspace. Only regular files are opened; anything else, and what has
// become something else meanwhile, is an error.
func (w *Workspace) OpenOld(c Change) (*os.File, error) { panic("soon") }

// OpenNew see OpenOld.
func (w *Workspace) OpenNew(c Change) (*os.File, error) { panic("soon") }

// Diff makes the textual form of one change: git header and hunks. What is
// binary, large or not a file has no hunks. b bounds what a series of calls reads.
func (w *Workspace) Diff(ctx context.Context, c Change, b *Budget) (patch.File, error) { panic("soon") }
