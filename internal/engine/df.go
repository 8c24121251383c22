package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/coop-dev/coop/internal/linux/diskuse"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

// Usage is one kind of what lies in COOP_HOME.
type Usage struct {
	Kind             string
	Count, Active    int // Active: those in use
	Bytes            int64
	ReclaimableBytes int64
	Command          string // what reclaims it
}

// DiskUsage accounts for every byte in COOP_HOME: what is in no other line is in
// the last one.
func (e *Engine) DiskUsage(ctx context.Context) ([]Usage, int64, error) {
	total, err := diskuse.Tree(ctx, e.Home)
	if err != nil {
		return nil, 0, err
	}
	var list []Usage
	rest := total
	for _, count := range []func(context.Context) (Usage, error){
		e.sandboxUsage, e.volumeUsage(NamedVolume), e.volumeUsage(NamedWorkspace), e.keptUsage, e.cacheUsage,
		e.layerUsage, e.dirUsage("images", "images", ""),
		e.hostUsage, e.dirUsage("review journals", "review", ""), e.fileUsage("database", "coop.db"), e.fileUsage("logs", "daemon.log"),
	} {
		u, err := count(ctx)
		if err != nil {
			return nil, 0, err
		}
		rest -= u.Bytes
		list = append(list, u)
	}
	// Sizes change while they are read: less than nothing is nothing.
	return append(list, Usage{Kind: "other", Bytes: max(rest, 0)}), total, nil
}

func (e *Engine) sandboxUsage(ctx context.Context) (Usage, error) {
	u := Usage{Kind: "sandboxes", Command: "coop gc"}
	var err error
	if u.Bytes, err = diskuse.Tree(ctx, filepath.Join(e.Home, "sandboxes")); err != nil {
		return u, err
	}
	for cursor := ""; ; {
		page, err := e.Store.List(ctx, store.Filter{Limit: 1000, Cursor: cursor})
		if err != nil {
			return u, err
		}
		for _, r := range page.Records {
			u.Count++
			free, err := e.collectable(ctx, r)
			if err != nil {
				return u, err
			}
			if e.running(r.ID) != nil {
				u.Active++
			}
			u.ReclaimableBytes += free
		}
		if cursor = page.Next; cursor == "" {
			return u, nil
		}
	}
}

// collectable is what a plain coop gc would get by removing a sandbox.
func (e *Engine) collectable(ctx context.Context, r *sandbox.Record) (int64, error) {
	if r.Status != sandbox.Stopped && r.Status != sandbox.Failed {
		return 0, nil
	}
	if pending, err := e.pending(ctx, r); err != nil || pending {
		return 0, nil //nolint:nilerr // what cannot be judged is not collected either
	}
	return diskuse.Tree(ctx, e.dir(r.ID))
}

func (e *Engine) volumeUsage(k VolumeKind) func(context.Context) (Usage, error) {
	return func(ctx context.Context) (Usage, error) {
		u := Usage{Kind: string(k) + "s", Command: "coop " + string(k) + " prune"}
		shelf, _ := e.shelf(k)
		var err error
		if u.Bytes, err = diskuse.Tree(ctx, shelf.Dir); err != nil {
			return u, err
		}
		all, err := e.Volumes(ctx, k)
		for _, v := range all {
			u.Count++
			if len(v.Sandboxes) > 0 {
				u.Active++
			} else {
				u.ReclaimableBytes += v.Bytes
			}
		}
		return u, err
	}
}

func (e *Engine) keptUsage(ctx context.Context) (Usage, error) {
	u := Usage{Kind: "persist", Command: "coop volume prune --persist"}
	var err error
	if u.Bytes, err = diskuse.Tree(ctx, e.kept.Dir); err != nil {
		return u, err
	}
	keys, err := e.kept.Keys()
	if err != nil {
		return u, err
	}
	free, err := e.PruneKept(ctx, true)
	for _, v := range free {
		u.ReclaimableBytes += v.Bytes
	}
	u.Count, u.Active = len(keys), len(keys)-len(free)
	return u, err
}

func (e *Engine) cacheUsage(ctx context.Context) (Usage, error) {
	u := Usage{Kind: "package caches", Command: "coop cache prune"}
	var err error
	if u.Bytes, err = diskuse.Tree(ctx, e.caches.Dir); err != nil {
		return u, err
	}
	all, err := e.Caches(ctx)
	for _, c := range all {
		u.Count++
		if len(c.Sandboxes) > 0 {
			u.Active++
		} else {
			u.ReclaimableBytes += c.Bytes
		}
	}
	return u, err
}

// hostUsage is what the image `host` has prepared. Old states go by themselves
// when a daemon starts and no sandbox uses them.
func (e *Engine) hostUsage(ctx context.Context) (Usage, error) {
	u := Usage{Kind: "host image"}
	dir := filepath.Join(e.Home, "cache", "host")
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return u, err
	}
	u.Count = len(entries)
	u.Bytes, err = diskuse.Tree(ctx, dir)
	return u, err
}

// layerUsage is what images and bases are made of.
func (e *Engine) layerUsage(ctx context.Context) (Usage, error) {
	u := Usage{Kind: "layers", Command: "coop image prune --all"}
	var err error
	if u.Bytes, err = diskuse.Tree(ctx, filepath.Join(e.Home, "layers")); err != nil || e.Images == nil {
		return u, err
	}
	u.Count, u.Active, u.ReclaimableBytes, err = e.Images.LayerUsage(ctx)
	return u, err
}

func (e *Engine) dirUsage(kind, dir, command string) func(context.Context) (Usage, error) {
	return func(ctx context.Context) (Usage, error) {
		bytes, err := diskuse.Tree(ctx, filepath.Join(e.Home, dir))
		return Usage{Kind: kind, Bytes: bytes, Command: command}, err
	}
}

// fileUsage is a file with those that belong to it: coop.db-wal, daemon.log.1.
func (e *Engine) fileUsage(kind, name string) func(context.Context) (Usage, error) {
	return func(context.Context) (Usage, error) {
		u := Usage{Kind: kind}
		entries, err := os.ReadDir(e.Home)
		for _, d := range entries {
			if d.Type().IsRegular() && strings.HasPrefix(d.Name(), name) {
				bytes, err := diskuse.File(filepath.Join(e.Home, d.Name()))
				if err != nil {
					continue // gone since it was listed
				}
				u.Bytes += bytes
			}
		}
		return u, err
	}
}
