// Package changes reads what a workspace changed out of an overlay's upper
// layer. It only reads and trusts nothing in the upper: names, types and contents
// were made by the sandbox, which may still be changing them. Everything is
// opened beneath a root descriptor, without following a link out of it and
// without waiting for the other end of a fifo.
package changes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/filestat"
)

// errChanged ends the walk at the first difference.
var errChanged = errors.New("changed")

// pair is a project and the upper layer over it.
type pair struct{ project, upper *os.Root }

// Any reports whether the upper layer differs from the project it lies over. It
// stops at the first difference; a file written back to what it was is none.
func Any(ctx context.Context, project, upper string) (bool, error) {
	var p pair
	var err error
	p.project, err = os.OpenRoot(project)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // all there is of it now is the workspace
	}
	if err != nil {
		return false, err
	}
	defer p.project.Close()
	if p.upper, err = os.OpenRoot(upper); err != nil {
		return false, err
	}
	defer p.upper.Close()
	err = fs.WalkDir(p.upper.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || name == "." {
			return err
		}
		return p.differs(name)
	})
	if errors.Is(err, errChanged) {
		return true, nil
	}
	return false, err
}

// differs compares one entry with the project's.
func (p pair) differs(name string) error {
	up, err := p.upper.Lstat(name)
	if err != nil {
		return errChanged // it changes this very moment
	}
	low, err := p.project.Lstat(name)
	if err != nil || up.Mode() != low.Mode() {
		return errChanged
	}
	switch {
	case up.IsDir():
		return p.opaque(name)
	case up.Mode()&fs.ModeSymlink != 0:
		return p.sameLink(name)
	case !up.Mode().IsRegular() || up.Size() != low.Size():
		return errChanged // a whiteout is a character device
	}
	return p.sameContent(name)
}

// opaque reports a directory that was removed and made anew: what was in it is
// gone without a whiteout.
func (p pair) opaque(name string) error {
	dir, err := open(p.upper, name)
	if err != nil {
		return errChanged
	}
	defer dir.Close()
	for _, x := range []string{"user.overlay.opaque", "trusted.overlay.opaque", "trusted.overlay.redirect"} {
		if filestat.HasXattr(dir, x) {
			return errChanged
		}
	}
	return nil
}

func (p pair) sameLink(name string) error {
	x, errA := p.project.Readlink(name)
	y, errB := p.upper.Readlink(name)
	if errA != nil || errB != nil || x != y {
		return errChanged
	}
	return nil
}

// open opens a file for reading; what has become a fifo meanwhile does not hold
// it up, what has become a link is refused.
func open(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}

func (p pair) sameContent(name string) error {
	x, err := open(p.project, name)
	if err != nil {
		return errChanged // unreadable for us: better kept than lost
	}
	defer x.Close()
	y, err := open(p.upper, name)
	if err != nil {
		return errChanged
	}
	defer y.Close()
	if st, err := y.Stat(); err != nil || !st.Mode().IsRegular() {
		return errChanged
	}
	return sameBytes(x, y)
}

func sameBytes(x, y io.Reader) error {
	bufX, bufY := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errX := io.ReadFull(x, bufX)
		m, errY := io.ReadFull(y, bufY)
		if !bytes.Equal(bufX[:n], bufY[:m]) {
			return errChanged
		}
		if errX != nil || errY != nil {
			return nil
		}
	}
}
