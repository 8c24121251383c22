// Package copy makes a private copy of a project, for places where overlayfs
// cannot lie over it: shared blocks where the filesystem has them, otherwise a
// plain copy. Modes, times, holes and hard links are kept. Beside the copy goes a
// manifest of what it was, so that a diff reads only what was touched since.
//
// Invariant: the copy appears under its name complete, on the disk and with its
// manifest, or not at all. What cannot be copied is an error, never a gap; only
// sockets and devices are left out, which are of no use in a sandbox.
package copy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/coop-dev/coop/internal/linux/beneath"
	"github.com/coop-dev/coop/internal/linux/copyfile"
	"github.com/coop-dev/coop/internal/linux/rmtree"
	"github.com/coop-dev/coop/internal/sandbox"
)

// attempts is how often a file is copied that somebody is writing to.
const attempts = 3

// Owner says whom a copied file belongs to.
type Owner func(uid, gid uint32) (int, int)

// Make copies the tree src to dst, which must not exist or be an empty directory,
// and writes the manifest.
// A nil owner leaves everything to the user we are.
func Make(ctx context.Context, src *os.File, dst, manifest string, owner Owner) (err error) {
	stage := dst + ".partial"
	if err := rmtree.Remove(stage); err != nil { // of a create that was killed
		return err
	}
	defer func() {
		if err != nil {
			_ = rmtree.Remove(stage) // the first error is the one to tell
			_ = os.Remove(manifest)
		}
	}()
	c := &copier{ctx: ctx, src: src, dst: stage, owner: owner, links: map[inode]string{}}
	if err := c.run(); err != nil {
		return explain(err)
	}
	top, err := os.Open(stage)
	if err != nil {
		return err
	}
	defer top.Close()
	// A power failure must not leave empty files that look like changes.
	if err := copyfile.SyncTree(top); err != nil {
		return explain(err)
	}
	if err := record(ctx, top, manifest); err != nil {
		return explain(err)
	}
	if err := os.Remove(dst); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // only an empty directory goes
	}
	return os.Rename(stage, dst)
}

// copier goes through the source with a list of directories still to do.
type copier struct {
	ctx   context.Context
	src   *os.File
	dst   string
	owner Owner
	links map[inode]string // first name of files with several
	dirs  []made
}

type inode struct{ dev, ino uint64 }

// made is a directory whose mode and time are set when its files are in it.
type made struct {
	path string
	info beneath.Info
}

func (c *copier) run() error {
	top, err := beneath.At(c.src, "")
	if err != nil {
		return err
	}
	if err := os.Mkdir(c.dst, 0o700); err != nil {
		return err
	}
	c.dirs = []made{{"", top}}
	for i := 0; i < len(c.dirs); i++ {
		if err := c.dir(c.dirs[i].path); err != nil {
			return err
		}
	}
	for _, d := range slices.Backward(c.dirs) {
		if err := c.finish(d.path, d.info); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) dir(path string) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	d, err := beneath.Dir(c.src, path)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := beneath.Entry(d, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile: then it is not part of the copy
		}
		if err != nil {
			return err
		}
		if err := c.entry(d, name, filepath.Join(path, name), info); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) entry(d *os.File, name, path string, info beneath.Info) error {
	to := filepath.Join(c.dst, path)
	switch m := info.Mode; {
	case m.IsDir():
		c.dirs = append(c.dirs, made{path, info})
		return os.Mkdir(to, 0o700)
	case m.IsRegular():
		return c.file(path, info)
	case m&fs.ModeSymlink != 0:
		target, err := beneath.Link(d, name)
		if err != nil {
			return err
		}
		if err := os.Symlink(target, to); err != nil {
			return err
		}
	case m&fs.ModeNamedPipe != 0:
		if err := copyfile.Fifo(to, 0o600); err != nil {
			return err
		}
	default:
		return nil // a socket or a device
	}
	return c.finish(path, info)
}

// file copies a regular file, or links it to the copy of its other name.
func (c *copier) file(path string, info beneath.Info) error {
	id := inode{info.Dev, info.Ino}
	if first, ok := c.links[id]; ok && info.Links > 1 {
		return os.Link(filepath.Join(c.dst, first), filepath.Join(c.dst, path))
	}
	for i := 1; ; i++ {
		now, err := c.content(path)
		if err == nil {
			if info.Links > 1 {
				c.links[id] = path
			}
			return c.finish(path, now)
		}
		if errors.Is(err, fs.ErrNotExist) && !c.remains(path) {
			return nil // removed meanwhile
		}
		if !errors.Is(err, errMoving) || i == attempts {
			return err
		}
	}
}

// remains reports whether the source still has the file.
func (c *copier) remains(path string) bool {
	_, err := beneath.At(c.src, path)
	return err == nil
}

// errMoving is the answer to a file that changed under our hands.
var errMoving = errors.New("it is being written to")

func (c *copier) content(path string) (beneath.Info, error) {
	src, info, err := beneath.File(c.src, path)
	if err != nil {
		return info, err
	}
	defer src.Close()
	to := filepath.Join(c.dst, path)
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return info, err
	}
	err = copyfile.Copy(c.ctx, dst, src, info.Size)
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if c.ctx.Err() != nil {
		return info, context.Cause(c.ctx)
	}
	after, serr := beneath.At(c.src, path)
	if serr != nil || after.Size != info.Size || !after.MTime.Equal(info.MTime) || !after.CTime.Equal(info.CTime) {
		return info, fmt.Errorf("copy %s: %w", path, errors.Join(errMoving, serr))
	}
	return info, err
}

// finish gives a copy its owner, mode and time, in this order: a change of owner
// clears mode bits, and everything changes the time.
func (c *copier) finish(path string, info beneath.Info) error {
	to := filepath.Join(c.dst, path)
	if c.owner != nil {
		uid, gid := c.owner(info.UID, info.GID)
		if err := os.Lchown(to, uid, gid); err != nil {
			return err
		}
	}
	if info.Mode&fs.ModeSymlink == 0 {
		if err := os.Chmod(to, info.Mode.Perm()|special(info.Mode)); err != nil {
			return err
		}
	}
	return copyfile.SetTime(to, info.MTime)
}

// special are the bits beside the permissions that are kept: those of directories.
// A file that changes who runs it is of no use in a sandbox.
func special(m fs.FileMode) fs.FileMode {
	if m.IsDir() {
		return m & (fs.ModeSetgid | fs.ModeSticky)
	}
	return 0
}

func explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return sandbox.Errorf(sandbox.Denied, "copy the project: %w", err).
			WithHint("the copy driver needs to read every file; make it readable, or use --driver overlay")
	case errors.Is(err, errMoving):
		return sandbox.Errorf(sandbox.Unavailable, "copy the project: %w", err).
			WithHint("try again when nothing writes to the project")
	}
	return fmt.Errorf("copy the project: %w", err)
}
