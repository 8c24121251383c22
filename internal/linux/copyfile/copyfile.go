// Package copyfile copies the content of a file in the cheapest way the
// filesystem has: shared blocks, then a copy inside the kernel, then through our
// own memory. Holes stay holes. It copies exactly what was asked for or fails.
package copyfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/beneath"
)

// step is how much is copied between two looks at the context.
const step = 8 << 20

// Copy makes the empty file dst what src is; size is how long src is expected to
// be. A source that turns out shorter is io.ErrUnexpectedEOF.
func Copy(ctx context.Context, dst, src *os.File, size int64) error {
	cloned, err := Clone(dst, src)
	if cloned || err != nil || size == 0 {
		return err
	}
	if err := dst.Truncate(size); err != nil {
		return err
	}
	for off := beneath.Data(src, 0, size); off < size; {
		end := min(beneath.Hole(src, off, size), size)
		if err := copyData(ctx, dst, src, off, end); err != nil {
			return err
		}
		off = beneath.Data(src, end, size)
	}
	return nil
}

// Clone shares src's blocks with dst (FICLONE); false when the filesystem cannot.
func Clone(dst, src *os.File) (bool, error) {
	err := unix.IoctlFileClone(int(dst.Fd()), int(src.Fd()))
	if err == nil {
		return true, nil
	}
	if cannot(err) || err == unix.ENOTTY || err == unix.ETXTBSY {
		return false, nil
	}
	return false, fmt.Errorf("clone %s: %w", src.Name(), err)
}

// cannot tells a filesystem that has no such call from one that failed at it.
func cannot(err error) bool {
	for _, e := range []error{unix.EOPNOTSUPP, unix.EXDEV, unix.EINVAL, unix.ENOSYS, unix.EPERM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func copyData(ctx context.Context, dst, src *os.File, off, end int64) error {
	for off < end {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		from, to := off, off
		n, err := unix.CopyFileRange(int(src.Fd()), &from, int(dst.Fd()), &to, int(min(step, end-off)), 0)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil && cannot(err):
			return copyPlain(ctx, dst, src, off, end)
		case err != nil:
			return fmt.Errorf("copy %s: %w", src.Name(), err)
		case n == 0:
			return fmt.Errorf("copy %s: %w", src.Name(), io.ErrUnexpectedEOF)
		}
		off += int64(n)
	}
	return nil
}

func copyPlain(ctx context.Context, dst, src *os.File, off, end int64) error {
	buf := make([]byte, min(1<<20, end-off))
	for off < end {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := src.ReadAt(buf[:min(int64(len(buf)), end-off)], off)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("copy %s: %w", src.Name(), err)
		}
		if _, err := dst.WriteAt(buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// SyncTree writes everything of the filesystem that dir is on to the disk.
func SyncTree(dir *os.File) error {
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", dir.Name(), err)
	}
	return nil
}
