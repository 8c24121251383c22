package unpack

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/linux/layerdir"
	"github.com/coop-dev/coop/internal/sandbox"
)

const (
	whiteoutPrefix = ".wh."
	opaqueMark     = ".wh..wh..opq"
	aufsPrefix     = ".wh..wh."
)

// entry makes one.
func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	p, err := clean(h.Name)
	if err != nil {
		return err
	}
	if base := path.Base(p); strings.HasPrefix(base, whiteoutPrefix) {
		return u.whiteout(path.Dir(p), base)
	}
	if p == "." {
		return u.root(h)
	}
	at, err := u.at(p)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return u.file(p, at, h, content)
	case tar.TypeDir:
		return u.directory(p, at, h)
	case tar.TypeSymlink:
		return u.symlink(p, at, h)
	case tar.TypeLink:
		return u.link(p, at, h)
	case tar.TypeFifo:
		return u.fifo(p, at, h)
	case tar.TypeChar, tar.TypeBlock:
		// A sandbox has its own /dev; and 0/0 would be a whiteout nobody checked.
		u.result.Devices++
		return nil
	}
	return sandbox.Errorf(sandbox.Invalid, "unknown kind of entry %q", h.Typeflag)
}

// at finds an entry's place. Where a directory above it is hidden by a whiteout
// of this same layer and not listed itself, it is made anew, opaque.
func (u *unpacker) at(p string) (layerdir.Place, error) {
	at, err := u.tree.At(p)
	if !errors.Is(err, syscall.ENOTDIR) {
		return at, err
	}
	for i := range p {
		if p[i] != '/' || !u.whiteouts[p[:i]] {
			continue
		}
		above, aerr := u.tree.At(p[:i])
		if aerr != nil {
			return above, aerr
		}
		if err := u.directory(p[:i], above, &tar.Header{Mode: 0o755}); err != nil {
			return above, err
		}
		return u.tree.At(p)
	}
	return at, err
}

// clean makes a name relative to the root. A name with .. is refused: no tool
// writes one by itself.
func clean(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", sandbox.Errorf(sandbox.Invalid, "its name holds a NUL byte")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", sandbox.Errorf(sandbox.Invalid, "its path leads out of the layer")
		}
	}
	p := strings.TrimPrefix(path.Clean("/"+name), "/")
	if p == "" {
		p = "."
	}
	if len(p) >= 4096 {
		return "", sandbox.Errorf(sandbox.Invalid, "its path is longer than 4095 bytes")
	}
	return p, nil
}

// replace makes room for an entry that is no directory, or for a directory
// where something else is. A later entry replaces an earlier one.
func (u *unpacker) replace(p string, at layerdir.Place) error {
	delete(u.whiteouts, p)
	return u.tree.Remove(at)
}

// making tries once more after making room.
func (u *unpacker) making(p string, at layerdir.Place, make func() error) error {
	err := make()
	if !errors.Is(err, syscall.EEXIST) {
		return err
	}
	if err := u.replace(p, at); err != nil {
		return err
	}
	return make()
}

func (u *unpacker) root(h *tar.Header) error {
	if h.Typeflag != tar.TypeDir {
		return sandbox.Errorf(sandbox.Invalid, "the root is not a directory")
	}
	return u.tree.SetRoot(u.meta(h))
}

func (u *unpacker) directory(p string, at layerdir.Place, h *tar.Header) error {
	hidden := u.whiteouts[p]
	err := u.tree.Mkdir(at)
	if errors.Is(err, syscall.EEXIST) {
		err = u.overExisting(p, at)
	}
	if err != nil {
		return err
	}
	m := u.meta(h)
	if err := u.tree.Set(at, m, false); err != nil {
		return err
	}
	if err := u.remember(p); err != nil {
		return err
	}
	u.dirs = append(u.dirs, dirTime{p, m.Time})
	set := func(name string, value []byte) error { return u.tree.DirAttr(at, name, value) }
	if hidden { // the layer removes the directory below and makes a new one
		if err := set(u.opaqueAttr(), []byte("y")); err != nil {
			return err
		}
	}
	return u.attributes(h, set)
}

// overExisting keeps a directory that is there and replaces anything else.
func (u *unpacker) overExisting(p string, at layerdir.Place) error {
	kind, err := u.tree.Kind(at)
	if err != nil || kind == layerdir.Directory {
		return err
	}
	if err := u.replace(p, at); err != nil {
		return err
	}
	return u.tree.Mkdir(at)
}

func (u *unpacker) symlink(p string, at layerdir.Place, h *tar.Header) error {
	if h.Linkname == "" || strings.ContainsRune(h.Linkname, 0) {
		return sandbox.Errorf(sandbox.Invalid, "a link without a target")
	}
	if err := u.making(p, at, func() error { return u.tree.Symlink(h.Linkname, at) }); err != nil {
		return err
	}
	return u.tree.Set(at, u.meta(h), true)
}

// link makes a hard link. Its target is another entry of this layer: what lies
// in a lower one cannot be shared with it.
func (u *unpacker) link(p string, at layerdir.Place, h *tar.Header) error {
	from, err := clean(h.Linkname)
	if err != nil {
		return err
	}
	if from == p {
		return nil
	}
	if from == "." || u.whiteouts[from] || strings.HasPrefix(path.Base(from), whiteoutPrefix) {
		return sandbox.Errorf(sandbox.Invalid, "a hard link to something that is no file")
	}
	err = u.making(p, at, func() error { return u.tree.Link(from, at) })
	switch {
	case errors.Is(err, syscall.ENOENT):
		return sandbox.Errorf(sandbox.Invalid, "a hard link to %.128q, which is not in this layer", from)
	case errors.Is(err, syscall.EPERM):
		return sandbox.Errorf(sandbox.Invalid, "a hard link to a directory")
	}
	return err
}

func (u *unpacker) fifo(p string, at layerdir.Place, h *tar.Header) error {
	if err := u.making(p, at, func() error { return u.tree.Fifo(at) }); err != nil {
		return err
	}
	return u.tree.Set(at, u.meta(h), false)
}

// dirTime is what a directory's time shall be when everything is in it.
type dirTime struct {
	path string
	time time.Time
}

// finish sets the times of directories, the deepest last made first.
func (u *unpacker) finish() error {
	for i := len(u.dirs) - 1; i >= 0; i-- {
		d := u.dirs[i]
		at, err := u.tree.At(d.path)
		if err != nil {
			continue // replaced by something that is no directory
		}
		if kind, err := u.tree.Kind(at); err != nil || kind != layerdir.Directory {
			continue
		}
		if err := u.tree.SetTime(at, d.time); err != nil {
			return err
		}
	}
	return nil
}
