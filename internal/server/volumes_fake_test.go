package server

import (
	"context"
	"os"
	"time"

	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/volume"
)

// The fake knows one volume and one workspace, "box"; the files of the workspace
// are real.

func exampleVolume() engine.Volume {
	return engine.Volume{Name: "box", Path: "/v/box", Bytes: 7, ModifiedAt: time.Unix(1, 0).UTC(), Sandboxes: []string{"a"}}
}

func (e *fakeEngine) Volumes(_ context.Context, k engine.VolumeKind) ([]engine.Volume, error) {
	return []engine.Volume{exampleVolume()}, e.called("volumes "+string(k), "")
}

func (e *fakeEngine) Volume(_ context.Context, k engine.VolumeKind, name string) (engine.Volume, error) {
	return exampleVolume(), e.called("volume "+string(k), name)
}

func (e *fakeEngine) CreateVolume(_ context.Context, k engine.VolumeKind, name, seed, actor string) (engine.Volume, error) {
	return exampleVolume(), e.called("create "+string(k)+" "+name+" "+seed+" "+actor, "")
}

func (e *fakeEngine) RemoveVolume(_ context.Context, k engine.VolumeKind, name string) error {
	return e.called("remove "+string(k), name)
}

func (e *fakeEngine) PruneVolumes(_ context.Context, k engine.VolumeKind, dry bool) ([]engine.Volume, error) {
	return []engine.Volume{{Name: "old", Bytes: 3}, {Name: "older", Bytes: 4}}, e.called("prune "+string(k), "")
}

func (e *fakeEngine) PruneKept(context.Context, bool) ([]engine.Volume, error) {
	return nil, e.called("prune kept", "")
}

func (e *fakeEngine) WorkspaceTree(_ context.Context, name string) (*volume.Tree, error) {
	if err := e.called("tree", ""); err != nil {
		return nil, err
	}
	if e.shelf == "" {
		return nil, sandbox.Errorf(sandbox.NotFound, "no workspace %q", name)
	}
	shelf := &volume.Shelf{Dir: e.shelf, What: "workspace"}
	return shelf.Tree(name)
}

func (e *fakeEngine) Caches(context.Context) ([]engine.Cache, error) {
	return []engine.Cache{{Path: "~/.npm", Generation: 2, Bytes: 5}}, e.called("caches", "")
}

func (e *fakeEngine) PromoteCaches(_ context.Context, ref string, _ bool, _ string) ([]engine.Promotion, error) {
	return []engine.Promotion{{Path: "~/.npm", Promoted: volume.Promoted{Generation: 3, Added: 1, Refused: []string{"a\xff"}}}}, e.called("promote", ref)
}

func (e *fakeEngine) PruneCaches(context.Context, bool) ([]engine.Volume, error) {
	return []engine.Volume{{Name: "/c"}}, e.called("prune caches", "")
}

func (e *fakeEngine) Purge(_ context.Context, ref, _ string) error { return e.called("purge", ref) }

func (e *fakeEngine) DiskUsage(context.Context) ([]engine.Usage, int64, error) {
	return []engine.Usage{{Kind: "volumes", Count: 1, Bytes: 9, Command: "coop volume prune"}}, 9, e.called("df", "")
}

// makeShelf gives the fake a workspace with real files.
func (e *fakeEngine) makeShelf(dir string) error {
	e.shelf = dir
	return os.Mkdir(dir+"/box", 0o755)
}
