package changes

import (
	"context"
	"io"
	"io/fs"
	"os"

	"github.com/coop-dev/coop/internal/changes/patch"
)

// Diff makes the textual form of one change: git's header and hunks. What is
// binary, large or no file has no hunks, what is denied or refused no content.
// b bounds what a series of calls reads.
func (w *Workspace) Diff(ctx context.Context, c Change, b *Budget) (patch.File, error) {
	f := patch.File{
		OldPath: c.Path, NewPath: c.Path, OldMode: gitMode(c.Old), NewMode: gitMode(c.New), Similarity: c.Similarity,
		Summary: c.left(),
	}
	if c.Kind == Renamed {
		f.OldPath = c.OldPath
	}
	if ctx.Err() != nil {
		return f, context.Cause(ctx)
	}
	if f.Summary != "" || c.Kind == ModeOnly || (c.Kind == Renamed && c.Similarity == 100 && c.New.Mode.IsRegular()) {
		return f, nil
	}
	var k kept
	if c.kept != nil {
		k = *c.kept
	}
	if f.Old, f.Summary = w.read(c, c.Old, k.old, w.OpenOld, b); f.Summary != "" {
		return f, nil
	}
	if f.New, f.Summary = w.read(c, c.New, k.new, w.OpenNew, b); f.Summary != "" {
		f.Old = nil
		return f, nil
	}
	if f.Binary = isBinary(f.Old) || isBinary(f.New); !f.Binary {
		f.Hunks = patch.Diff(f.Old, f.New)
	}
	return f, nil
}

// left says why a change's content is not shown.
func (c Change) left() string {
	switch {
	case c.Denied != "":
		return "denied: " + c.Denied
	case c.Refused != "":
		return "refused: " + c.Refused
	case c.Unreadable != "":
		return "unreadable " + c.Unreadable
	case c.Large:
		return "too large"
	}
	return ""
}

// read gives the content of one side, or why it is left out.
func (w *Workspace) read(c Change, s State, kept []byte, open func(Change) (*os.File, error), b *Budget) (content []byte, summary string) {
	switch {
	case !s.Exists:
		return nil, ""
	case s.Mode.Type() == fs.ModeSymlink:
		return []byte(s.Link), ""
	case !s.Mode.IsRegular():
		return nil, ""
	case s.Size > b.file:
		return nil, "too large"
	case !b.take(s.Size):
		return nil, "beyond the size of this diff"
	case kept != nil:
		return kept, ""
	}
	f, err := open(c)
	if err != nil {
		return nil, "unreadable: " + unreadable("now", err)
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, b.file+1)) // it may be growing
	switch {
	case err != nil:
		return nil, "unreadable: " + unreadable("now", err)
	case int64(len(content)) > b.file:
		return nil, "too large"
	}
	return content, ""
}

// gitMode is what git calls it; 0 for what git does not keep, such as a directory.
func gitMode(s State) patch.Mode {
	switch {
	case !s.Exists:
		return 0
	case s.Mode.Type() == fs.ModeSymlink:
		return patch.Symlink
	case s.Mode.IsRegular() && s.Mode&0o100 != 0:
		return patch.Executable
	case s.Mode.IsRegular():
		return patch.Regular
	}
	return 0
}

// Patch calls each for every change of a list with its textual form.
func (w *Workspace) Patch(ctx context.Context, list []Change, l Limits, each func(Change, patch.File) error) error {
	b := NewBudget(l)
	for _, c := range list {
		f, err := w.Diff(ctx, c, b)
		if err != nil {
			return err
		}
		if err := each(c, f); err != nil {
			return err
		}
	}
	return nil
}

// Late reports a file that takes the place of a directory. In a patch it must
// come last, when the directory is empty, for programs that apply it step by step.
func (c Change) Late() bool { return c.Kind == Type && c.Old.Mode.IsDir() }
