package engine

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/coop-dev/coop/internal/rootfs"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/volume"
	"github.com/coop-dev/coop/internal/workspace"
)

// furnished makes a sandbox's filesystem with everything that is mounted beside
// image and workspace.
func (e *Engine) furnished(ctx context.Context, r *sandbox.Record, p rootfs.Params, fresh bool) (filesystem, error) {
	if err := e.remember(r, &p); err != nil {
		return filesystem{}, err
	}
	files, err := e.makeFiles(ctx, p, fresh)
	if err != nil {
		return files, err
	}
	if err := e.furnish(ctx, r, p, files.Result); err != nil {
		files.Close()
		return filesystem{}, err
	}
	return files, nil
}

// furnish adds the mounts in this order: what the project keeps, caches, then
// what was asked for, the outer before what lies in it.
func (e *Engine) furnish(ctx context.Context, r *sandbox.Record, p rootfs.Params, res *rootfs.Result) error {
	image := *res // volumes are seeded from what the image has, not from each other
	if keeps(r.Spec) {
		for _, path := range r.Spec.Persist {
			if err := e.addKept(r, p, res, path); err != nil {
				return err
			}
		}
	}
	if err := e.addCaches(r, p, res); err != nil {
		return err
	}
	mounts := slices.SortedStableFunc(slices.Values(r.Spec.Mounts), func(a, b sandbox.Mount) int { return cmp.Compare(a.Target, b.Target) })
	for _, m := range mounts {
		add := e.addPath
		if m.IsVolume() {
			add = func(ctx context.Context, p rootfs.Params, res *rootfs.Result, m sandbox.Mount) error {
				return e.addVolume(ctx, p, res, &image, m)
			}
		}
		if err := add(ctx, p, res, m); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) addKept(r *sandbox.Record, p rootfs.Params, res *rootfs.Result, path string) error {
	dir, err := e.kept.Open(volume.Key(r.Spec.Project()), path, r.Spec.Agent.User)
	if err != nil {
		return err
	}
	defer dir.Close()
	return e.build.Add(res, p, rootfs.Extra{Source: dir, Dir: true, Target: "~/" + path, Write: true, Own: true, Ranged: true})
}

// addPath shows a file or directory of the host.
func (e *Engine) addPath(_ context.Context, p rootfs.Params, res *rootfs.Result, m sandbox.Mount) error {
	src, err := volume.OpenHost(m.Source, e.Home, m.UID)
	if err != nil {
		return err
	}
	defer src.Close()
	if config, err := os.UserConfigDir(); err == nil && m.Write {
		if err := src.CheckWritable(filepath.Join(config, "coop")); err != nil {
			return err
		}
	}
	return e.build.Add(res, p, rootfs.Extra{
		Source: src.File, Dir: src.Dir, Target: m.Target, Write: m.Write, UID: src.UID, GID: src.GID,
	})
}

// addVolume shows a named volume, which its first user fills.
func (e *Engine) addVolume(ctx context.Context, p rootfs.Params, res, image *rootfs.Result, m sandbox.Mount) error {
	dir, first, err := e.volumes.Use(ctx, m.Source, e.seed(p, image, m))
	if err != nil {
		return err
	}
	defer dir.Close()
	return e.build.Add(res, p, rootfs.Extra{Source: dir, Dir: true, Target: m.Target, Write: m.Write, Own: first, Ranged: true})
}

// seed is what a volume's first user fills it with: a path of the host that was
// asked for, or what the image has where the volume will be.
func (e *Engine) seed(p rootfs.Params, image *rootfs.Result, m sandbox.Mount) volume.Fill {
	if m.Seed != "" {
		return e.seedFromHost(m.Seed, m.UID)
	}
	if strings.HasPrefix(m.Target, "~") {
		return nil // whose home that is only PID 1 finds out
	}
	root, rel := image.Tree(m.Target)
	return volume.FromImage(root, rel, e.root, p.IDBase)
}

func (e *Engine) seedFromHost(path string, uid uint32) volume.Fill {
	return func(ctx context.Context, stage string) error {
		src, err := volume.OpenHost(path, e.Home, uid)
		if err != nil {
			return err
		}
		defer src.Close()
		return volume.FromHost(src, e.root)(ctx, stage)
	}
}

// openNamed opens a named workspace, made at first use.
func (e *Engine) openNamed(ctx context.Context, name string) (*workspace.Source, error) {
	dir, _, err := e.workspaces.Use(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	return workspace.Named(dir), nil
}

// asker is the user a request comes from, as this process counts. One that came
// another way than by the socket may have what the daemon's user has.
func (e *Engine) asker(actor string) uint32 {
	text, ok := strings.CutPrefix(actor, "uid:")
	uid, err := strconv.ParseUint(text, 10, 32)
	if !ok || err != nil {
		return uint32(os.Getuid())
	}
	return e.UIDs.Inside(uint32(uid)) // audit lines name people as the host does
}
