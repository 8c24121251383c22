package hostimage

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coop-dev/coop/internal/linux/mount"
)

// directoriesOnly repeats the directories of a tree, owned by us, so that
// overlayfs can copy them up. What we cannot look into stays as it is.
func directoriesOnly(ctx context.Context, tree, shadow string) error {
	return walk(ctx, tree, func(p string, st fs.FileInfo) error {
		if !st.IsDir() {
			return nil
		}
		return makeDir(filepath.Join(shadow, p[len(tree):]), st.Mode().Perm()|0o700)
	})
}

// hideSecrets puts a whiteout over everything that is not for everybody's eyes.
func hideSecrets(ctx context.Context, tree, shadow string) error {
	if err := makeDir(shadow, 0o755); err != nil {
		return err
	}
	return walk(ctx, tree, func(p string, st fs.FileInfo) error {
		if public(st) {
			return nil
		}
		if err := hide(tree, shadow, p); err != nil {
			return err
		}
		if st.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// public reports whether every user of the host may read it. Programs that may
// be executed but not read are no secrets.
func public(st fs.FileInfo) bool {
	perm := st.Mode().Perm()
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		return true
	case st.IsDir():
		return perm&0o5 == 0o5
	case st.Mode().IsRegular():
		return perm&0o4 != 0
	}
	return false // sockets, fifos and devices have no place in an image
}

// hide makes the whiteout, and the directories above it with the attributes
// they have on the host: the topmost layer's attributes are the ones seen.
func hide(tree, shadow, p string) error {
	rel := p[len(tree):]
	for i := 1; i < len(rel); i++ {
		if rel[i] != '/' {
			continue
		}
		st, err := os.Lstat(tree + rel[:i])
		if err != nil {
			return nil // gone: nothing to hide
		}
		if err := makeDir(filepath.Join(shadow, rel[:i]), st.Mode().Perm()); err != nil {
			return err
		}
	}
	return mount.Whiteout(filepath.Join(shadow, rel))
}

// walk visits what is on the tree's own filesystem, without following links.
func walk(ctx context.Context, tree string, visit func(string, fs.FileInfo) error) error {
	return filepath.WalkDir(tree, func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return skipUnreadable(d)
		}
		st, err := d.Info()
		if err != nil {
			return nil // gone since it was listed
		}
		return visit(p, st)
	})
}
