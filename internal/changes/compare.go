package changes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/coop-dev/coop/internal/linux/beneath"
	"github.com/coop-dev/coop/internal/sandbox"
)

// compare decides about one name and goes on below it.
func (w *walker) compare(v *view, name string, new side) error {
	path := join(v.path, name)
	inside, above := w.wanted(path)
	if !inside && !above {
		return nil
	}
	old, err := v.oldSide(name)
	if err != nil || (!old.exists && !new.exists) {
		return err
	}
	c := Change{Path: path, from: new.from}
	if c.Kind, err = w.kind(v, name, old, new); err != nil {
		return err
	}
	c.Old, c.New = state(old, name), state(new, name)
	b := v.bulk
	if b == nil && inside {
		b = w.bulkAt(c)
	}
	if c.Kind != "" && inside {
		if err := w.emit(c, old, new, b); err != nil {
			return err
		}
	}
	isDir := (old.exists && old.Mode.IsDir()) || (new.exists && new.Mode.IsDir())
	if isDir && len(path) <= maxPath && (b == nil || !b.changed) {
		w.descend(v, name, old, new, b)
	}
	return nil
}

// wanted reports whether a path was asked for, or leads to one that was.
func (w *walker) wanted(path string) (inside, above bool) {
	if len(w.Paths) == 0 {
		return true, true
	}
	for _, p := range w.Paths {
		if p == "" || path == p || strings.HasPrefix(path, p+"/") {
			return true, true
		}
		above = above || strings.HasPrefix(p, path+"/")
	}
	return false, above
}

// emit enters a change into the list, or into the tree that is one change.
func (w *walker) emit(c Change, old, new side, b *bulk) error {
	if w.first {
		return errFound
	}
	if b != nil {
		b.changed = true
		return nil
	}
	if len(w.out) >= w.Limits.Changes {
		return sandbox.Errorf(sandbox.TooLarge, "more than %d changes", w.Limits.Changes).
			WithHint("name the paths that matter, or remove what the sandbox need not keep")
	}
	c.Refused = refused(old, new)
	if len(c.Path) > maxPath {
		c.Refused = "its path is longer than the kernel takes"
	}
	w.out = append(w.out, c)
	return nil
}

// bulkAt begins a tree that is denied as a whole.
func (w *walker) bulkAt(c Change) *bulk {
	pattern := w.judge.deniesTree(c.Path)
	if pattern == "" {
		return nil
	}
	b := &bulk{change: c}
	b.change.Denied = pattern
	if c.Kind == "" || c.Kind == ModeOnly {
		b.change.Kind = Modified
	}
	w.bulks = append(w.bulks, b)
	return b
}

// kind compares the two sides; "" means that they are the same.
func (w *walker) kind(v *view, name string, old, new side) (Kind, error) {
	switch {
	case !new.exists:
		return Deleted, nil
	case new.same: // a directory that the sandbox left alone
		return "", nil
	case !old.exists:
		return Added, nil
	case old.Mode.Type() != new.Mode.Type():
		return Type, nil
	}
	same, err := w.same(v, name, old, new)
	switch {
	case err != nil:
		return "", err
	case !same:
		return Modified, nil
	case permissions(old.Mode) != permissions(new.Mode):
		return ModeOnly, nil
	}
	return "", nil
}

// permissions are the bits that count. Links have none of their own; directories
// inherit the setgid bit from the one they are made in.
func permissions(m fs.FileMode) fs.FileMode {
	switch {
	case m&fs.ModeSymlink != 0:
		return 0
	case m.IsDir():
		return m & (fs.ModePerm | fs.ModeSetuid | fs.ModeSticky)
	}
	return m & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
}

// same compares what two entries of one type hold.
func (w *walker) same(v *view, name string, old, new side) (bool, error) {
	switch {
	case old.Mode.IsDir():
		return true, nil
	case old.Mode&fs.ModeSymlink != 0:
		a, errA := beneath.Link(old.dir, name)
		b, errB := beneath.Link(new.dir, name)
		return a == b && errA == nil && errB == nil, nil
	case !old.Mode.IsRegular():
		return old.Rdev == new.Rdev, nil
	case old.Size != new.Size:
		return false, nil
	case old.Dev == new.Dev && old.Ino == new.Ino:
		return true, nil // through a moved directory back at its place
	}
	return w.sameContent(join(v.path, name), new.from)
}

// sameContent compares two files of the same size, byte by byte: times can be set
// by anybody. A file that cannot be read is not the same.
func (w *walker) sameContent(path, from string) (bool, error) {
	a, info, err := beneath.File(w.project, path)
	if err != nil {
		return false, nil
	}
	defer a.Close()
	b, _, err := w.openNew(path, from)
	if err != nil {
		return false, nil
	}
	defer b.Close()
	return sameBytes(w.ctx, a, b, info.Size)
}

// sameBytes compares size bytes. Where both have a hole there is nothing to read.
func sameBytes(ctx context.Context, a, b *os.File, size int64) (bool, error) {
	const chunk = 64 << 10
	bufA, bufB := make([]byte, min(chunk, size)), make([]byte, min(chunk, size))
	for off := int64(0); off < size; {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		n, errA := a.ReadAt(bufA[:min(chunk, size-off)], off)
		m, errB := b.ReadAt(bufB[:min(chunk, size-off)], off)
		if !bytes.Equal(bufA[:n], bufB[:m]) || n == 0 {
			return false, nil
		}
		if off += int64(n); isEnd(errA) || isEnd(errB) {
			return off == size, nil
		}
		if size-off > chunk {
			off = min(beneath.Data(a, off, size), beneath.Data(b, off, size))
		}
	}
	return true, nil
}

func isEnd(err error) bool { return err != nil && errors.Is(err, io.EOF) }

func state(s side, name string) State {
	if !s.exists {
		return State{}
	}
	st := State{Exists: true, Mode: s.Mode, Size: s.Size, MTime: s.MTime}
	switch {
	case s.Mode.IsDir():
		st.Size = 0
	case s.Mode&fs.ModeSymlink != 0:
		st.Link, _ = beneath.Link(s.dir, name) // gone meanwhile: then there is no telling
	}
	return st
}

// refused says why something can never be applied to a project.
func refused(old, new side) string {
	m := new.Mode
	switch {
	case !new.exists:
		return ""
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeNamedPipe != 0:
		return "a fifo"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeSetuid != 0 && !(m.IsDir() && old.Mode&fs.ModeSetuid != 0):
		return "setuid"
	case m&fs.ModeSetgid != 0 && m.IsRegular():
		return "setgid"
	case m&fs.ModeSticky != 0 && !(m.IsDir() && old.Mode&fs.ModeSticky != 0):
		return "a sticky bit"
	}
	return ""
}
