// Package changes reads what a workspace changed out of an overlay's upper
// layer. It only reads, never follows a link, and trusts nothing in the upper:
// names, types and contents were made by the sandbox.
package changes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coop-dev/coop/internal/linux/filestat"
)

// errChanged ends the walk at the first difference.
var errChanged = errors.New("changed")

// Any reports whether the upper layer differs from the project it lies over. It
// stops at the first difference; a file written back to what it was is none.
func Any(ctx context.Context, project, upper string) (bool, error) {
	err := filepath.WalkDir(upper, func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || p == upper {
			return err
		}
		return differs(filepath.Join(project, p[len(upper):]), p)
	})
	if errors.Is(err, errChanged) {
		return true, nil
	}
	return false, err
}

// differs compares one entry with the project's.
func differs(base, upper string) error {
	up, err := filestat.At(upper)
	if err != nil {
		return err
	}
	low, err := filestat.At(base)
	if err != nil || up.Mode != low.Mode {
		return errChanged
	}
	switch {
	case up.Mode.IsDir():
		return opaque(upper)
	case up.Mode&fs.ModeSymlink != 0:
		return sameLink(base, upper)
	case !up.Mode.IsRegular() || up.Size != low.Size:
		return errChanged // a whiteout is a character device
	}
	return sameContent(base, upper)
}

// opaque reports a directory that was removed and made anew: what was in it is
// gone without a whiteout.
func opaque(dir string) error {
	if filestat.HasXattr(dir, "user.overlay.opaque") || filestat.HasXattr(dir, "trusted.overlay.opaque") ||
		filestat.HasXattr(dir, "trusted.overlay.redirect") {
		return errChanged
	}
	return nil
}

func sameLink(a, b string) error {
	x, errA := os.Readlink(a)
	y, errB := os.Readlink(b)
	if errA != nil || errB != nil || x != y {
		return errChanged
	}
	return nil
}

func sameContent(a, b string) error {
	x, err := os.Open(a)
	if err != nil {
		return errChanged // unreadable for us: better kept than lost
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return err
	}
	defer y.Close()
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
