// Package rootfs assembles the filesystem of a sandbox: which trees, which
// layers each has, where each goes. The result is a list of detached mounts and
// the part of the setup message that says where PID 1 attaches them.
//
// Invariant: on an error every mount and descriptor made so far is closed;
// the caller never has to clean up after a failed Build.
package rootfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/mount"
	"github.com/coop-dev/coop/internal/rootfs/hostimage"
	"github.com/coop-dev/coop/internal/rootfs/overlay"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/workspace"
)

// Builder makes the filesystems of all sandboxes of one daemon.
type Builder struct {
	Root bool // real root: lowers are idmapped
	maps *idMaps
}

// NewBuilder says whether the daemon is real root.
func NewBuilder(root bool) *Builder { return &Builder{Root: root, maps: newIDMaps()} }

// Params is what one sandbox's filesystem is made of.
type Params struct {
	Dir       string // sandboxes/<id>
	Spec      sandbox.Spec
	IDBase    uint32
	OwnerUID  uint32 // inside: whom the workspace belongs to
	OwnerGID  uint32
	Image     *hostimage.Image  // the host's system, or
	Stack     *Stack            // the layers of an image; with Image those of a base over it
	Workspace *workspace.Source // nil for mode none
	Driver    string            // of a workspace of mode overlay: Overlay or Copy
	Memory    *os.File          // mount that upper/ and work/ lie in; nil: they lie in Dir
	Empty     bool              // Memory holds nothing yet
}

// layers is where the directories lie that a sandbox writes into.
func (p Params) layers(names ...string) string {
	dir := p.Dir
	if p.Memory != nil {
		dir = mount.FDPath(int(p.Memory.Fd()))
	}
	return filepath.Join(append([]string{dir}, names...)...)
}

// Result is what PID 1 gets: Files[Root] is the root, Mounts name the others.
type Result struct {
	Files  []*os.File
	Mounts []initproto.Mount
	NoRepo error // why the original cannot be shown, with the copy driver
	Keep   int   // index of what PID 1 keeps for the next daemon, 0: nothing
}

// Prepare makes the directories a sandbox writes into. One that is started again
// finds its upper layers as they were, and new ones for trees the host has got
// since.
func (b *Builder) Prepare(ctx context.Context, p Params, fresh bool) error {
	for _, dir := range []string{"upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(p.Dir, dir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := prepareMemory(p); err != nil {
		return err
	}
	for _, t := range trees(p) {
		if err := b.makeDir(p.layers("upper", t.name), t.mode, p.IDBase); err != nil {
			return err
		}
		if err := b.makeDir(p.layers("work", t.name), 0o700, p.IDBase); err != nil {
			return err
		}
	}
	if err := b.prepareCopy(ctx, p); err != nil {
		return err
	}
	if !fresh && !p.Empty {
		return nil
	}
	for _, step := range []func(Params) error{b.giveWorkspace, b.makeEmpty, b.makeHome} {
		if err := step(p); err != nil {
			return err
		}
	}
	if err := b.identify(p, p.Spec.Name); err != nil || p.Image != nil {
		return err
	}
	return b.complete(p)
}

// giveWorkspace makes the workspace itself belong to whom its files do.
func (b *Builder) giveWorkspace(p Params) error {
	if !b.Root || p.Spec.Workspace.Mode != sandbox.ModeOverlay {
		return nil
	}
	return os.Lchown(p.layers("upper", "workspace"), int(p.IDBase+p.OwnerUID), int(p.IDBase+p.OwnerGID))
}

// makeDir makes a directory of the sandbox's root with exactly this mode. One
// that is there already is the sandbox's to change.
func (b *Builder) makeDir(dir string, mode fs.FileMode, base uint32) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	if mode.Perm() != 0o700 {
		if err := os.Chmod(dir, mode.Perm()); err != nil {
			return err
		}
	}
	return b.chown(dir, base)
}

// chown gives a file to the sandbox's root. In a user namespace it is ours
// already.
func (b *Builder) chown(p string, base uint32) error {
	if !b.Root {
		return nil
	}
	return os.Lchown(p, int(base), int(base))
}

// identify writes the files of /etc that differ between sandboxes.
func (b *Builder) identify(p Params, name string) error {
	etc := p.layers("upper", "root", "etc")
	if err := b.makeDir(etc, 0o755, p.IDBase); err != nil {
		return err
	}
	for file, text := range map[string]string{
		"hostname": name + "\n",
		"hosts":    "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 " + name + "\n",
	} {
		if err := b.put(filepath.Join(etc, file), []byte(text), p.IDBase); err != nil {
			return err
		}
	}
	return nil
}

// tree is one overlay of the sandbox.
type tree struct {
	name    string // below upper/ and work/
	target  string
	mode    fs.FileMode
	lowers  []string
	stacked bool // the lowers are the image's layers
}

func trees(p Params) []tree {
	list := systemTrees(p)
	if p.Spec.Workspace.Mode == sandbox.ModeOverlay && p.Driver != Copy {
		list = append(list, tree{name: "workspace", target: p.Spec.Workspace.Path, mode: p.Workspace.Mode})
	}
	return list
}

// systemTrees are the sandbox's system: one tree for an image, one for each part
// of the host.
func systemTrees(p Params) []tree {
	if p.Image == nil {
		return []tree{{name: "root", target: "/", mode: 0o755, stacked: true}}
	}
	list := []tree{{name: "root", target: "/", mode: 0o755, lowers: []string{p.Image.Skeleton}}}
	for _, t := range p.Image.Trees {
		list = append(list, tree{name: filepath.Base(t.Path), target: t.Path, mode: 0o755, lowers: []string{t.Shadow, t.Path}})
	}
	return list
}

// Build makes the mounts.
func (b *Builder) Build(ctx context.Context, p Params) (res *Result, err error) {
	res = &Result{}
	defer func() {
		if err != nil {
			res.Close()
			res = nil
		}
	}()
	for _, t := range trees(p) {
		if ctx.Err() != nil {
			return res, context.Cause(ctx)
		}
		if err := b.add(res, p, t); err != nil {
			return res, err
		}
	}
	if err := res.keep(p.Memory); err != nil {
		return res, err
	}
	return res, b.addWorkspace(res, p)
}

// Close lets go of the mounts; those PID 1 has attached stay.
func (r *Result) Close() {
	for _, f := range r.Files {
		f.Close()
	}
}

func (r *Result) put(m *os.File, at initproto.Mount) {
	at.FD = len(r.Files)
	r.Files = append(r.Files, m)
	if at.Target != "/" {
		r.Mounts = append(r.Mounts, at)
	}
}

// add makes one overlay.
func (b *Builder) add(res *Result, p Params, t tree) error {
	var open opened
	defer open.close()
	layers := overlay.Layers{Upper: open.dir(p.layers("upper", t.name)), Work: open.dir(p.layers("work", t.name))}
	for _, l := range t.lowers {
		layers.Lowers = append(layers.Lowers, b.lower(&open, open.dir(l), idmap.Based(p.IDBase), idmap.Based(p.IDBase)))
	}
	if t.stacked {
		layers.Lowers = b.stack(&open, p)
	}
	if p.Image != nil && p.Stack != nil && t.name != "workspace" {
		layers.Lowers = append(b.overHost(&open, p, t.name), layers.Lowers...)
	}
	if t.name == "workspace" {
		uids, gids := owned(p)
		layers.Lowers = append(layers.Lowers, b.lower(&open, p.Workspace.Dir, uids, gids))
	}
	if open.err != nil {
		return workspaceError(t, open.err)
	}
	m, err := overlay.Mount(layers, overlay.Options{UserXattr: !b.Root, NoRedirect: t.name == "workspace"})
	if err != nil {
		return workspaceError(t, err)
	}
	res.put(m, initproto.Mount{Target: t.target, Root: t.name != "workspace"})
	return nil
}

// lower prepares a directory of the host as a layer: for real root as an
// idmapped clone, so that its owner is an id of the sandbox.
func (b *Builder) lower(open *opened, dir *os.File, uids, gids idmap.Map) *os.File {
	if !b.Root || open.err != nil {
		return dir
	}
	m, err := b.idmapped(dir, false, uids, gids)
	return open.add(m, err)
}

func owned(p Params) (uids, gids idmap.Map) {
	if p.Workspace.Ranged {
		return idmap.Shifted(p.IDBase), idmap.Shifted(p.IDBase)
	}
	return idmap.Owned(p.Workspace.UID, p.OwnerUID, p.IDBase), idmap.Owned(p.Workspace.GID, p.OwnerGID, p.IDBase)
}

// idmapped clones a directory's mount and gives it an id map.
func (b *Builder) idmapped(dir *os.File, recursive bool, uids, gids idmap.Map) (*os.File, error) {
	ns, err := b.maps.get(uids, gids)
	if err != nil {
		return nil, err
	}
	m, err := mount.Clone(int(dir.Fd()), "", recursive)
	if err != nil {
		return nil, err
	}
	if err := mount.IDMap(int(m.Fd()), recursive, int(ns.Fd())); err != nil {
		m.Close()
		return nil, sandbox.Errorf(sandbox.Unavailable, "idmapped mount of %s: %w", dir.Name(), err).
			WithHint("as root, Coop needs Linux 5.19 and a filesystem that supports idmapped mounts (ext4, xfs, btrfs)")
	}
	return m, nil
}

// addWorkspace makes what has no upper layer: a bind workspace, and the original
// of an overlay, read-only.
func (b *Builder) addWorkspace(res *Result, p Params) error {
	w := p.Spec.Workspace
	if w.Mode == sandbox.ModeBind || w.Mode == sandbox.ModeVolume {
		if err := b.bind(res, p, initproto.Mount{Target: w.Path, Own: w.Mode == sandbox.ModeVolume}); err != nil {
			return err
		}
	}
	if w.Mode == sandbox.ModeOverlay && p.Driver == Copy {
		if err := b.mountCopy(res, p); err != nil {
			return err
		}
	}
	if w.Mode != sandbox.ModeOverlay || !w.Repo {
		return nil
	}
	err := b.original(res, p)
	if p.Driver == Copy {
		// The original is shown by an overlay too. Where there can be none, the
		// sandbox has its copy and the record says that /repo is missing.
		res.NoRepo, err = err, nil
	}
	return err
}

// original shows the project as it is. An overlay without an upper layer, not a
// read-only bind mount: through that one could still connect to the project's
// unix sockets and hold its file locks.
func (b *Builder) original(res *Result, p Params) error {
	var open opened
	defer open.close()
	uids, gids := owned(p)
	lowers := []*os.File{b.lower(&open, p.Workspace.Dir, uids, gids), open.dir(filepath.Join(p.Dir, "merged"))}
	if open.err != nil {
		return open.err
	}
	m, err := overlay.Mount(overlay.Layers{Lowers: lowers}, overlay.Options{UserXattr: !b.Root})
	if err != nil {
		return err
	}
	res.put(m, initproto.Mount{Target: sandbox.RepoPath, ReadOnly: true})
	return nil
}

// bind makes the host's directory itself visible.
func (b *Builder) bind(res *Result, p Params, at initproto.Mount) error {
	uids, gids := owned(p)
	m, err := b.clone(p.Workspace.Dir, true, uids, gids)
	if err != nil {
		return err
	}
	res.put(m, at)
	return nil
}
