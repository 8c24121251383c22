package rootfs

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/mount"
)

// Stack is an image's layers: directories of Dir, the topmost first. An image
// without any is an empty root.
type Stack struct {
	Dir   string
	Names []string
}

// stack opens the layers. Layers are stored with the ids of the image, so for
// real root they are idmapped; one clone of the directory that holds them all
// serves for any number.
func (b *Builder) stack(open *opened, p Params) []*os.File {
	s := p.Stack
	if len(s.Names) == 0 { // overlayfs wants one
		return []*os.File{open.dir(filepath.Join(p.Dir, "merged"))}
	}
	dir := b.lower(open, open.dir(s.Dir), idmap.Based(p.IDBase), idmap.Based(p.IDBase))
	if open.err != nil {
		return nil
	}
	list := make([]*os.File, 0, len(s.Names))
	for _, name := range s.Names {
		list = append(list, open.dir(mount.FDPath(int(dir.Fd()))+"/"+name))
	}
	return list
}

// complete puts into the upper layer what an image may lack and a sandbox needs:
// name servers. Mount points are made by PID 1.
func (b *Builder) complete(p Params) error {
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return nil //nolint:nilerr // a host without one has none to offer
	}
	return b.put(p.layers("upper", "root", "etc", "resolv.conf"), text, p.IDBase)
}

// put writes a file of the sandbox's root.
func (b *Builder) put(file string, text []byte, base uint32) error {
	const mode fs.FileMode = 0o644
	if err := os.WriteFile(file, text, mode); err != nil {
		return err
	}
	if err := os.Chmod(file, mode); err != nil { // the daemon's umask is narrow
		return err
	}
	return b.chown(file, base)
}
