package rootfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/mount"
	"github.com/coop-dev/coop/internal/rootfs/copy"
	"github.com/coop-dev/coop/internal/sandbox"
)

// The drivers of a workspace of mode overlay. What they promise is the suite in
// driver_test.go:
//
//	the sandbox sees the project's files, as its own        both
//	what it writes is kept in Layer and survives a restart  both
//	the project is never written to                         both
//	files that change in the project later are seen         overlay only
//	creating takes the same time for any project            overlay only
const (
	Overlay = "overlay" // the kernel's overlayfs
	Copy    = "copy"    // a private copy, with shared blocks where there are any
)

// Layer is where the writes to a workspace lie in a sandbox's directory, whatever
// the driver.
func Layer(dir string) string { return filepath.Join(dir, "upper", "workspace") }

// Manifest is where the copy driver notes what the copy was.
func Manifest(dir string) string { return filepath.Join(dir, "workspace.manifest") }

// WorkspaceError says that overlayfs cannot lie over this project. Another driver
// may do.
type WorkspaceError struct{ Err error }

func (e *WorkspaceError) Error() string { return e.Err.Error() }
func (e *WorkspaceError) Unwrap() error { return e.Err }

func workspaceError(t tree, err error) error {
	if t.name != "workspace" {
		return err
	}
	return &WorkspaceError{err}
}

// prepareCopy makes the copy of a new sandbox. One that is started again has it.
func (b *Builder) prepareCopy(ctx context.Context, p Params) error {
	if p.Spec.Workspace.Mode != sandbox.ModeOverlay || p.Driver != Copy {
		return nil
	}
	// The manifest tells: the directory alone may be of an overlay that was refused.
	if _, err := os.Lstat(Manifest(p.Dir)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return copy.Make(ctx, p.Workspace.Dir, Layer(p.Dir), Manifest(p.Dir), b.copyOwner(p))
}

// copyOwner is what an idmapped mount does to the owners of an overlay's files:
// what belongs to the project's owner belongs to the sandbox's, and the files of
// others stay theirs, no more accessible than to any stranger. In a user namespace
// everything we can read is ours.
func (b *Builder) copyOwner(p Params) copy.Owner {
	if !b.Root {
		return nil
	}
	return func(uid, gid uint32) (int, int) {
		u, g := int(uid), int(gid)
		if uid == p.Workspace.UID {
			u = int(p.IDBase + p.OwnerUID)
		}
		if gid == p.Workspace.GID {
			g = int(p.IDBase + p.OwnerGID)
		}
		return u, g
	}
}

// mountCopy shows the copy as the workspace.
func (b *Builder) mountCopy(res *Result, p Params) error {
	dir, err := os.Open(Layer(p.Dir))
	if err != nil {
		return err
	}
	defer dir.Close()
	m, err := mount.Clone(int(dir.Fd()), "", false)
	if err != nil {
		return err
	}
	if err := mount.SetAttr(int(m.Fd()), false, mount.NoSuid|mount.NoDev); err != nil {
		m.Close()
		return err
	}
	res.put(m, initproto.Mount{Target: p.Spec.Workspace.Path})
	return nil
}
