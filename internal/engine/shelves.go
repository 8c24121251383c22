package engine

import (
	"path/filepath"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/volume"
)

// shelves are where everything lies that outlives sandboxes.
type shelves struct {
	volumes, workspaces *volume.Shelf
	kept                *volume.Kept
	caches              *volume.Caches
}

func newShelves(home string, root bool) shelves {
	return shelves{
		volumes:    &volume.Shelf{Dir: filepath.Join(home, "volumes"), What: "volume", Root: root},
		workspaces: &volume.Shelf{Dir: filepath.Join(home, "workspaces"), What: "workspace", Root: root},
		kept:       &volume.Kept{Dir: filepath.Join(home, "persist"), Root: root},
		caches:     &volume.Caches{Dir: filepath.Join(home, "cache", "shared"), Root: root},
	}
}

// sweepShelves removes what a daemon that was killed had begun to make or remove.
func (e *Engine) sweepShelves() {
	for _, sweep := range []func() error{e.volumes.Sweep, e.workspaces.Sweep, e.kept.Sweep, e.caches.Sweep} {
		if err := sweep(); err != nil {
			e.Log.Error("sweep volumes", "err", err)
		}
	}
}

// letGo frees what a sandbox held of them. What its project keeps goes if there
// is nothing in it and nobody else of the project has it.
func (e *Engine) letGo(r *sandbox.Record) {
	e.holds.release(r)
	e.forgetMemory(r.ID)
	if !keeps(r.Spec) {
		return
	}
	key := volume.Key(r.Spec.Project())
	_ = e.holds.unused(keptThing(key), func() error { return e.kept.Tidy(key) }) // used is used, and empty directories harm nobody
}
