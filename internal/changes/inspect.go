package changes

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/coop-dev/coop/internal/linux/beneath"
)

// headBytes is how much of a file git looks at to tell text from binary.
const headBytes = 8000

// What is kept of files that were read whole for that, so that their text need
// not be read again.
const (
	keepFileBytes  = 32 << 10
	keepTotalBytes = 32 << 20
)

// kept is the content of both sides, nil where it was not kept.
type kept struct{ old, new []byte }

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
	r := reader{buf: make([]byte, keepFileBytes), left: keepTotalBytes}
	for i := range w.out {
		if w.ctx.Err() != nil {
			return nil, context.Cause(w.ctx)
		}
		c := &w.out[i]
		if c.Denied != "" || c.Refused != "" {
			continue
		}
		w.inspect(c, &r)
		n := name(c.Path)
		c.Denied = w.judge.denies(*c, n)
		c.Flagged = w.flagged(w.judge, *c, n)
	}
	return w.out, nil
}

// reader reads the beginnings of files and keeps small ones.
type reader struct {
	buf  []byte
	left int
}

// read gives the beginning of a file, and all of it to keep when it is small.
func (r *reader) read(dir *os.File, path string) (h beneath.Head, whole []byte, err error) {
	h, err = beneath.Read(dir, path, r.buf)
	if err != nil || int64(len(h.Bytes)) != h.Size || len(h.Bytes) > r.left {
		return h, nil, err
	}
	r.left -= len(h.Bytes)
	return h, append([]byte{}, h.Bytes...), nil
}

// inspect looks at the contents of one change.
func (w *walker) inspect(c *Change, r *reader) {
	old := c.Old.Exists && c.Old.Mode.IsRegular()
	new := c.New.Exists && c.New.Mode.IsRegular()
	if c.Kind == Renamed && c.from == c.OldPath {
		return // the very same file, in a directory that was moved
	}
	if c.Kind != ModeOnly {
		c.Large = (old && c.Old.Size > w.Limits.FileBytes) || (new && c.New.Size > w.Limits.FileBytes)
	}
	if new {
		w.inspectNew(c, r)
	}
	if !old || c.Kind == ModeOnly || c.Unreadable != "" || c.Refused != "" {
		return
	}
	h, whole, err := r.read(w.project, c.oldPath())
	if err != nil {
		c.Unreadable = unreadable("in the project", err)
		return
	}
	c.keep().old = whole
	c.Binary = c.Binary || isBinary(h.Bytes)
}

func (c *Change) keep() *kept {
	if c.kept == nil {
		c.kept = &kept{}
	}
	return c.kept
}

func (w *walker) inspectNew(c *Change, r *reader) {
	dir, path := w.upper, c.Path
	if c.from != "" {
		dir, path = w.project, c.from
	}
	h, whole, err := r.read(dir, path)
	switch {
	case err != nil:
		c.Unreadable = unreadable("in the workspace", err)
	case slices.Contains(h.Xattrs, "security.capability"):
		c.Refused = "file capabilities"
	case c.from == "" && slices.ContainsFunc(h.Xattrs, w.layer.foreign):
		c.Refused = errMetacopy.Error()
	case c.Kind != ModeOnly:
		c.keep().new = whole
		c.Binary = isBinary(h.Bytes)
	}
}

func unreadable(where string, err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err // the path is the change's own
	}
	return where + ": " + err.Error()
}

// isBinary is git's rule.
func isBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), headBytes)], 0) >= 0
}
