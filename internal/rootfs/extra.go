package rootfs

import (
	"os"
	"path/filepath"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/mount"
	"github.com/coop-dev/coop/internal/rootfs/overlay"
)

// Extra is one more mount of a sandbox, beside image and workspace.
type Extra struct {
	Source *os.File // what is shown; O_PATH will do
	Dir    bool     // Source is a directory, not a file
	Target string   // absolute, or ~/… in the home of the sandbox's user
	Write  bool
	Own    bool // its top directory is for the sandbox's user
	// Ranged says that the files belong to the range idmap.Volumes, as all that
	// outlives sandboxes of real root does. Otherwise they are UID's and GID's.
	Ranged   bool
	UID, GID uint32
	// Layer, when set, makes it copy-on-write: what is written goes to this name
	// below upper/ and work/.
	Layer string
}

// maps gives the ids of an extra's files to the sandbox.
func (x Extra) maps(p Params) (uids, gids idmap.Map) {
	if x.Ranged {
		return idmap.Shifted(p.IDBase), idmap.Shifted(p.IDBase)
	}
	return idmap.Owned(x.UID, p.OwnerUID, p.IDBase), idmap.Owned(x.GID, p.OwnerGID, p.IDBase)
}

// Add makes the mount of an extra.
func (b *Builder) Add(res *Result, p Params, x Extra) error {
	mount := b.bindExtra
	switch {
	case x.Layer != "":
		mount = b.layerExtra
	case !x.Write && x.Dir:
		mount = b.showExtra
	}
	m, err := mount(p, x)
	if err != nil {
		return err
	}
	res.put(m, initproto.Mount{Target: x.Target, ReadOnly: !x.Write, Own: x.Own})
	return nil
}

// bindExtra shows the thing itself, with what is mounted below it.
func (b *Builder) bindExtra(p Params, x Extra) (*os.File, error) {
	uids, gids := x.maps(p)
	return b.clone(x.Source, x.Dir, uids, gids)
}

// clone is a bind mount in which nobody gains anything from setuid bits or
// device nodes.
func (b *Builder) clone(dir *os.File, recursive bool, uids, gids idmap.Map) (m *os.File, err error) {
	if b.Root {
		m, err = b.idmapped(dir, recursive, uids, gids)
	} else {
		m, err = mount.Clone(int(dir.Fd()), "", recursive)
	}
	if err != nil {
		return nil, err
	}
	if err := mount.SetAttr(int(m.Fd()), recursive, mount.NoSuid|mount.NoDev); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// showExtra makes a directory visible that cannot be written: an overlay without
// an upper layer, for the reason original has.
func (b *Builder) showExtra(p Params, x Extra) (*os.File, error) {
	var open opened
	defer open.close()
	uids, gids := x.maps(p)
	lowers := []*os.File{b.lower(&open, x.Source, uids, gids), open.dir(filepath.Join(p.Dir, "merged"))}
	if open.err != nil {
		return nil, open.err
	}
	return overlay.Mount(overlay.Layers{Lowers: lowers}, overlay.Options{UserXattr: !b.Root})
}

// layerExtra lays a layer of the sandbox's own over the directory.
func (b *Builder) layerExtra(p Params, x Extra) (*os.File, error) {
	upper, work := p.layers("upper", x.Layer), p.layers("work", x.Layer)
	if err := b.makeDir(upper, 0o755, p.IDBase); err != nil {
		return nil, err
	}
	if err := b.makeDir(work, 0o700, p.IDBase); err != nil {
		return nil, err
	}
	var open opened
	defer open.close()
	uids, gids := x.maps(p)
	layers := overlay.Layers{Upper: open.dir(upper), Work: open.dir(work), Lowers: []*os.File{b.lower(&open, x.Source, uids, gids)}}
	if open.err != nil {
		return nil, open.err
	}
	return overlay.Mount(layers, overlay.Options{UserXattr: !b.Root})
}

// Tree finds the mount that holds a path of the sandbox, and the path below it:
// for looking at an image as the sandbox sees it, before PID 1 has attached
// anything.
func (r *Result) Tree(path string) (root *os.File, rel string) {
	root, at := r.Files[0], "/"
	for _, m := range r.Mounts {
		if len(m.Target) > len(at) && (path == m.Target || hasPrefix(path, m.Target)) {
			root, at = r.Files[m.FD], m.Target
		}
	}
	rel, err := filepath.Rel(at, path)
	if err != nil {
		return r.Files[0], path[1:]
	}
	return root, rel
}

func hasPrefix(path, dir string) bool {
	return len(path) > len(dir) && path[:len(dir)] == dir && path[len(dir)] == '/'
}
