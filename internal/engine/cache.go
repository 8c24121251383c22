package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/coop-dev/coop/internal/linux/diskuse"
	"github.com/coop-dev/coop/internal/rootfs"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/volume"
)

// cacheLayer is a sandbox's own layer over a shared cache, below upper/ and work/.
func cacheLayer(path string) string { return "cache-" + volume.CacheKey(path) }

// cachesFile tells the next daemon which generations a sandbox sees.
func (e *Engine) cachesFile(id sandbox.ID) string { return filepath.Join(e.dir(id), "caches.json") }

// addCaches shows every cache below a layer of the sandbox's own. Which
// generation it sees is written down before it is mounted.
func (e *Engine) addCaches(r *sandbox.Record, p rootfs.Params, res *rootfs.Result) error {
	if len(r.Spec.Cache) == 0 {
		return nil
	}
	seen := map[string]int{}
	var extras []rootfs.Extra
	defer func() {
		for _, x := range extras {
			x.Source.Close()
		}
	}()
	for _, path := range r.Spec.Cache {
		dir, err := e.caches.Open(path, func(n int) error {
			seen[path] = n
			return e.noteCaches(r.ID, seen)
		})
		if err != nil {
			return err
		}
		extras = append(extras, rootfs.Extra{
			Source: dir, Dir: true, Target: path, Write: true, Own: true, Ranged: true, Layer: cacheLayer(path),
		})
	}
	for _, x := range extras {
		if err := e.build.Add(res, p, x); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) noteCaches(id sandbox.ID, seen map[string]int) error {
	b, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	file := e.cachesFile(id)
	if err := os.WriteFile(file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// seenCaches are the generations a sandbox sees; a file that cannot be read is
// an error, not an empty one.
func (e *Engine) seenCaches(id sandbox.ID) (map[string]int, error) {
	b, err := os.ReadFile(e.cachesFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]int{}
	return seen, json.Unmarshal(b, &seen)
}

// Cache is a shared package cache.
type Cache struct {
	Path       string // inside
	Generation int    // the newest
	Bytes      int64  // of all generations together
	Sandboxes  []string
}

// Caches lists them.
func (e *Engine) Caches(ctx context.Context) ([]Cache, error) {
	paths, err := e.caches.Paths()
	if err != nil {
		return nil, err
	}
	list := make([]Cache, 0, len(paths))
	for _, p := range paths {
		c := Cache{Path: p, Sandboxes: e.holds.of(cacheThing(p))}
		if gens, err := e.caches.Generations(p); err != nil {
			return nil, err
		} else if len(gens) > 0 {
			c.Generation = gens[len(gens)-1]
		}
		if c.Bytes, err = diskuse.Tree(ctx, e.caches.Path(p)); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// Promotion is what became of one cache of a sandbox.
type Promotion struct {
	Path string
	volume.Promoted
}

// PromoteCaches makes what a sandbox has downloaded part of the shared caches.
// Those who run go on seeing what they saw.
func (e *Engine) PromoteCaches(ctx context.Context, ref string, replace bool, actor string) ([]Promotion, error) {
	r, err := e.Store.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	if len(r.Spec.Cache) == 0 {
		return nil, sandbox.Errorf(sandbox.Invalid, "sandbox %s has no shared caches", r.Spec.Name).
			WithHint("name them in [cache] of coop.toml, or with --cache")
	}
	var list []Promotion
	for _, path := range r.Spec.Cache {
		p, err := e.promote(ctx, r, path, replace)
		if err != nil {
			return list, diskError(err)
		}
		list = append(list, p)
		detail := fmt.Sprintf("cache %s: %d files into generation %d", path, p.Added, p.Generation)
		line := sandbox.AuditEntry{Event: "promote", Sandbox: r.ID, Name: r.Spec.Name, Actor: actor, Detail: detail, At: time.Now().UTC()}
		if err := e.Store.Append(ctx, line); err != nil {
			return list, err
		}
	}
	return list, nil
}

func (e *Engine) promote(ctx context.Context, r *sandbox.Record, path string, replace bool) (Promotion, error) {
	layer, err := os.Open(filepath.Join(e.memory.dir(r.ID, e.dir(r.ID)), "upper", cacheLayer(path)))
	if err != nil {
		return Promotion{}, err
	}
	defer layer.Close()
	out, err := e.caches.Promote(ctx, path, volume.Layer{Dir: layer, Base: r.IDBase}, replace)
	if err != nil {
		return Promotion{}, err
	}
	return Promotion{path, out}, e.trimCache(path)
}

// trimCache removes generations that no sandbox sees.
func (e *Engine) trimCache(path string) error {
	finish, err := e.caches.Trim(path, func() (map[int]bool, bool, error) {
		ids := e.holds.ids(cacheThing(path))
		used := map[int]bool{}
		for _, id := range ids {
			seen, err := e.seenCaches(id)
			if err != nil {
				return nil, false, err
			}
			used[seen[path]] = true // 0: it is being made and has opened none yet
		}
		return used, len(ids) > 0, nil
	})
	if err != nil {
		return err
	}
	return finish()
}

// PruneCaches removes generations nobody sees, and caches no sandbox uses; it
// tells of the latter.
func (e *Engine) PruneCaches(ctx context.Context, dry bool) ([]Volume, error) {
	all, err := e.Caches(ctx)
	if err != nil {
		return nil, err
	}
	gone := []Volume{}
	for _, c := range all {
		if !dry {
			if err := e.trimCache(c.Path); err != nil {
				return gone, err
			}
		}
		if len(c.Sandboxes) == 0 {
			gone = append(gone, Volume{Name: c.Path, Path: e.caches.Path(c.Path), Bytes: c.Bytes})
		}
	}
	return gone, nil
}
