package engine

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

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
		dir, n, err := e.caches.Open(path)
		if err != nil {
			return err
		}
		seen[path] = n
		extras = append(extras, rootfs.Extra{
			Source: dir, Dir: true, Target: path, Write: true, Own: true, Ranged: true, Layer: cacheLayer(path),
		})
	}
	if err := e.noteCaches(r.ID, seen); err != nil {
		return err
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
