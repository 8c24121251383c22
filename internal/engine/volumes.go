package engine

import (
	"context"
	"path/filepath"
	"time"

	"github.com/coop-dev/coop/internal/linux/diskuse"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/volume"
)

// VolumeKind tells named volumes from named workspaces. They are kept apart:
// one is mounted beside a workspace, the other is one.
type VolumeKind string

// The kinds.
const (
	NamedVolume    VolumeKind = "volume"
	NamedWorkspace VolumeKind = "workspace"
)

// Volume is a named directory.
type Volume struct {
	Name       string
	Path       string
	Bytes      int64
	ModifiedAt time.Time
	Sandboxes  []string // names of those that use it
}

func (e *Engine) shelf(k VolumeKind) (*volume.Shelf, func(name string) string) {
	if k == NamedWorkspace {
		return e.workspaces, workspaceThing
	}
	return e.volumes, volumeThing
}

// Volumes lists the named directories of a kind, by name.
func (e *Engine) Volumes(ctx context.Context, k VolumeKind) ([]Volume, error) {
	shelf, _ := e.shelf(k)
	names, err := shelf.Names()
	if err != nil {
		return nil, err
	}
	list := make([]Volume, 0, len(names))
	for _, name := range names {
		v, err := e.Volume(ctx, k, name)
		if sandbox.CodeOf(err) == sandbox.NotFound && err != nil {
			continue // removed since it was listed
		}
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// Volume shows one of them.
func (e *Engine) Volume(ctx context.Context, k VolumeKind, name string) (Volume, error) {
	shelf, thing := e.shelf(k)
	dir, err := shelf.Open(name)
	if err != nil {
		return Volume{}, err
	}
	defer dir.Close()
	st, err := dir.Stat()
	if err != nil {
		return Volume{}, err
	}
	bytes, err := diskuse.Tree(ctx, shelf.Path(name))
	return Volume{Name: name, Path: shelf.Path(name), Bytes: bytes, ModifiedAt: st.ModTime().UTC(), Sandboxes: e.holds.of(thing(name))}, err
}

// CreateVolume makes a named directory, empty or as a copy of a host path. An
// empty volume is seeded from the image of its first sandbox.
func (e *Engine) CreateVolume(ctx context.Context, k VolumeKind, name, seed, actor string) (Volume, error) {
	if !sandbox.ValidName(name) {
		return Volume{}, sandbox.Errorf(sandbox.Invalid, "illegal name %.128q", name).
			WithHint("a name is 1 to 63 of a-z, 0-9 and -, and does not begin with -")
	}
	shelf, _ := e.shelf(k)
	var err error
	if seed != "" {
		err = shelf.CreateFilled(ctx, name, e.seedFromHost(seed, e.asker(actor)))
	} else {
		err = shelf.Create(name)
	}
	if err != nil {
		return Volume{}, diskError(err)
	}
	return e.Volume(ctx, k, name)
}

// RemoveVolume removes a named directory that no sandbox uses, running or not.
func (e *Engine) RemoveVolume(_ context.Context, k VolumeKind, name string) error {
	shelf, thing := e.shelf(k)
	var finish func() error
	err := e.holds.unused(thing(name), func() (err error) {
		finish, err = shelf.Detach(name)
		return err
	})
	if err != nil {
		return err
	}
	return finish()
}

// PruneVolumes removes those of a kind that no sandbox uses, or only tells which.
func (e *Engine) PruneVolumes(ctx context.Context, k VolumeKind, dry bool) ([]Volume, error) {
	all, err := e.Volumes(ctx, k)
	if err != nil {
		return nil, err
	}
	gone := []Volume{}
	for _, v := range all {
		if len(v.Sandboxes) > 0 {
			continue
		}
		if !dry {
			err := e.RemoveVolume(ctx, k, v.Name)
			if code := sandbox.CodeOf(err); err != nil && (code == sandbox.Conflict || code == sandbox.NotFound) {
				continue // somebody was faster
			}
			if err != nil {
				return gone, err
			}
		}
		gone = append(gone, v)
	}
	return gone, nil
}

// WorkspaceTree opens the files of a named workspace. The caller closes it.
func (e *Engine) WorkspaceTree(_ context.Context, name string) (*volume.Tree, error) {
	if !sandbox.ValidName(name) {
		return nil, sandbox.Errorf(sandbox.NotFound, "no workspace %.64q", name)
	}
	return e.workspaces.Tree(name)
}

// Purge removes a sandbox and what its project keeps, unless another sandbox of
// the project still has it.
func (e *Engine) Purge(ctx context.Context, ref, actor string) error {
	r, err := e.Store.Resolve(ctx, ref)
	if err != nil {
		return err
	}
	if err := e.Delete(ctx, string(r.ID), actor); err != nil {
		return err
	}
	if r.Spec.Project() == "" {
		return nil
	}
	err = e.purgeKept(volume.Key(r.Spec.Project()))
	if sandbox.CodeOf(err) == sandbox.Conflict {
		return nil
	}
	return err
}

// purgeKept removes what a project keeps; it is a conflict while it has sandboxes.
func (e *Engine) purgeKept(key string) error {
	var finish func() error
	err := e.holds.unused(keptThing(key), func() (err error) {
		finish, err = e.kept.Detach(key)
		return err
	})
	if err != nil {
		return err
	}
	return finish()
}

// PruneKept removes what projects keep of which no sandbox is left, or only tells
// which.
func (e *Engine) PruneKept(ctx context.Context, dry bool) ([]Volume, error) {
	keys, err := e.kept.Keys()
	if err != nil {
		return nil, err
	}
	gone := []Volume{}
	for _, key := range keys {
		if len(e.holds.of(keptThing(key))) > 0 {
			continue
		}
		v := Volume{Name: key, Path: filepath.Join(e.kept.Dir, key)}
		if v.Bytes, err = diskuse.Tree(ctx, v.Path); err != nil {
			return gone, err
		}
		if !dry {
			err := e.purgeKept(key)
			if err != nil && sandbox.CodeOf(err) == sandbox.Conflict {
				continue // somebody has begun to use it
			}
			if err != nil {
				return gone, err
			}
		}
		gone = append(gone, v)
	}
	return gone, nil
}
