package changes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/coop-dev/coop/internal/linux/beneath"
)

// headBytes is how much of a file git looks at to tell text from binary.
const headBytes = 8000

// judged completes the list: what the policy denies, what was renamed, what the
// contents are, what is flagged.
func (w *walker) judged() ([]Change, error) {
	for i := range w.out {
		c := &w.out[i]
		if c.Denied == "" {
			c.Denied = w.judge.denies(*c, name(c.Path))
		}
	}
	if err := w.pairRenames(); err != nil {
		return nil, err
	}
	head := make([]byte, headBytes)
	for i := range w.out {
		if w.ctx.Err() != nil {
			return nil, context.Cause(w.ctx)
		}
		c := &w.out[i]
		if c.Denied != "" || c.Refused != "" {
			continue
		}
		w.inspect(c, head)
		n := name(c.Path)
		c.Denied = w.judge.denies(*c, n)
		c.Flagged = w.flagged(w.judge, *c, n)
	}
	return w.out, nil
}

// inspect looks at the contents of one change.
func (w *walker) inspect(c *Change, head []byte) {
	old := c.Old.Exists && c.Old.Mode.IsRegular()
	new := c.New.Exists && c.New.Mode.IsRegular()
	if c.Kind == Renamed && c.from == c.OldPath {
		return // the very same file, in a directory that was moved
	}
	if c.Kind != ModeOnly {
		c.Large = (old && c.Old.Size > w.Limits.FileBytes) || (new && c.New.Size > w.Limits.FileBytes)
	}
	if new {
		w.inspectNew(c, head)
	}
	if old && !c.Binary && c.Kind != ModeOnly && c.Unreadable == "" {
		f, err := w.OpenOld(*c)
		if err != nil {
			c.Unreadable = unreadable("in the project", err)
			return
		}
		defer f.Close()
		c.Binary = binaryHead(f, head)
	}
}

func (w *walker) inspectNew(c *Change, head []byte) {
	f, err := w.OpenNew(*c)
	if errors.Is(err, errMetacopy) {
		c.Refused = err.Error()
		return
	}
	if err != nil {
		c.Unreadable = unreadable("in the workspace", err)
		return
	}
	defer f.Close()
	if _, ok, err := beneath.Xattr(f, "security.capability"); ok || err != nil {
		c.Refused = "file capabilities"
		return
	}
	c.Binary = c.Kind != ModeOnly && binaryHead(f, head)
}

func unreadable(where string, err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err // the path is the change's own
	}
	return where + ": " + err.Error()
}

// binaryHead is git's rule.
func binaryHead(f *os.File, head []byte) bool {
	n, _ := io.ReadFull(f, head) // short files are the normal case
	return bytes.IndexByte(head[:n], 0) >= 0
}
