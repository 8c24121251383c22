package rootfs

import (
	"errors"
	"io/fs"
	"os"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/mount"
)

// overHost opens what the layers of a base have for one tree of the host's
// system, the topmost first. A tree that the host has got since has nothing.
func (b *Builder) overHost(open *opened, p Params, tree string) []*os.File {
	if len(p.Stack.Names) == 0 {
		return nil
	}
	dir := b.lower(open, open.dir(p.Stack.Dir), idmap.Based(p.IDBase), idmap.Based(p.IDBase))
	var list []*os.File
	for _, name := range p.Stack.Names {
		if open.err != nil {
			return nil
		}
		f, err := os.Open(mount.FDPath(int(dir.Fd())) + "/" + name + "/" + tree)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		list = append(list, open.add(f, err))
	}
	return list
}
