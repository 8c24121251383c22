package unpack

import (
	"errors"
	"path"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/layerdir"
	"github.com/coop-dev/coop/internal/sandbox"
)

// opaqueAttr is how overlayfs marks a directory that hides the ones below.
func (u *unpacker) opaqueAttr() string {
	if u.UserXattr {
		return "user.overlay.opaque"
	}
	return "trusted.overlay.opaque"
}

// whiteout turns the mark of the archive into that of overlayfs. It is about
// lower layers only: what this layer itself holds stays, whichever comes first.
func (u *unpacker) whiteout(dir, base string) error {
	if base == opaqueMark {
		return u.opaque(dir)
	}
	if strings.HasPrefix(base, aufsPrefix) {
		return nil // notes of an old file system
	}
	name := strings.TrimPrefix(base, whiteoutPrefix)
	if name == "" || name == "." || name == ".." {
		return sandbox.Errorf(sandbox.Invalid, "a whiteout of nothing")
	}
	p := path.Join(dir, name)
	at, err := u.at(p)
	if err != nil {
		return err
	}
	err = u.tree.Whiteout(at)
	switch {
	case err == nil:
		u.whiteouts[p] = true
		return u.remember(p)
	case !errors.Is(err, syscall.EEXIST):
		return refusedWhiteout(err)
	}
	if kind, err := u.tree.Kind(at); err != nil || kind != layerdir.Directory {
		return err
	}
	return u.tree.DirAttr(at, u.opaqueAttr(), []byte("y"))
}

// opaque hides everything below a directory, which need not be listed itself.
func (u *unpacker) opaque(dir string) error {
	at, err := u.at(path.Join(dir, "x")) // makes dir
	if err != nil {
		return err
	}
	at.Name = "."
	return refusedWhiteout(u.tree.DirAttr(at, u.opaqueAttr(), []byte("y")))
}

func refusedWhiteout(err error) error {
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EOPNOTSUPP) {
		return sandbox.Errorf(sandbox.Unavailable, "this file system cannot hold layers: %w", err).
			WithHint("set COOP_HOME to a directory on ext4, xfs, btrfs or tmpfs; the root of a container is an overlay")
	}
	return err
}
