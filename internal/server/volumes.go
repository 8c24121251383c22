package server

import (
	"context"
	"net/http"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/volume"
)

// Volumes is what the server asks of the use cases about what outlives sandboxes.
type Volumes interface {
	Volumes(ctx context.Context, k engine.VolumeKind) ([]engine.Volume, error)
	Volume(ctx context.Context, k engine.VolumeKind, name string) (engine.Volume, error)
	CreateVolume(ctx context.Context, k engine.VolumeKind, name, seed, actor string) (engine.Volume, error)
	RemoveVolume(ctx context.Context, k engine.VolumeKind, name string) error
	PruneVolumes(ctx context.Context, k engine.VolumeKind, dry bool) ([]engine.Volume, error)
	PruneKept(ctx context.Context, dry bool) ([]engine.Volume, error)
	// WorkspaceTree opens the files of a named workspace. The caller closes it.
	WorkspaceTree(ctx context.Context, name string) (*volume.Tree, error)

	Caches(ctx context.Context) ([]engine.Cache, error)
	PromoteCaches(ctx context.Context, ref string, replace bool, actor string) ([]engine.Promotion, error)
	PruneCaches(ctx context.Context, dry bool) ([]engine.Volume, error)

	// Purge deletes a sandbox with what its project keeps.
	Purge(ctx context.Context, ref, actor string) error
	DiskUsage(ctx context.Context) (lines []engine.Usage, total int64, err error)
}

func volumeRoutes() []route {
	list := append(namedRoutes("Volume", "/volumes", engine.NamedVolume), namedRoutes("Workspace", "/workspaces", engine.NamedWorkspace)...)
	list = append(list, workspaceFileRoutes()...)
	return append(list, cacheRoutes()...)
}

// namedRoutes are the same for both kinds of named directories.
func namedRoutes(what, path string, k engine.VolumeKind) []route {
	noun := string(k)
	return []route{
		{
			id: "list" + what + "s", method: "GET", path: path, summary: "List " + noun + "s",
			status: http.StatusOK, answer: api.List[api.Volume]{}, handle: listVolumes(k),
		},
		{
			id: "create" + what, method: "POST", path: path, summary: "Make a " + noun + ", empty or as a copy of a host directory",
			body: api.VolumeRequest{}, status: http.StatusCreated, answer: api.Volume{}, handle: createVolume(k),
		},
		{
			id: "get" + what, method: "GET", path: path + "/{name}", summary: "Show one " + noun,
			status: http.StatusOK, answer: api.Volume{}, handle: getVolume(k),
		},
		{
			id: "delete" + what, method: "DELETE", path: path + "/{name}", summary: "Remove a " + noun + " that no sandbox uses",
			status: http.StatusNoContent, handle: deleteVolume(k),
		},
	}
}

type handle = func(*Server, http.ResponseWriter, *http.Request) error

func volumeOf(v engine.Volume) api.Volume {
	out := api.Volume{Name: v.Name, Path: v.Path, Bytes: v.Bytes, Sandboxes: v.Sandboxes, ModifiedAt: v.ModifiedAt}
	if out.Sandboxes == nil {
		out.Sandboxes = []string{}
	}
	return out
}

func volumesOf(list []engine.Volume) (out []api.Volume, bytes int64) {
	out = make([]api.Volume, len(list))
	for i, v := range list {
		out[i] = volumeOf(v)
		bytes += v.Bytes
	}
	return out, bytes
}

// nameParam is the name in a path. What cannot be one does not reach the engine.
func nameParam(r *http.Request, k engine.VolumeKind) (string, error) {
	name := r.PathValue("name")
	if !sandbox.ValidName(name) {
		return "", sandbox.Errorf(sandbox.NotFound, "no %s %.64q", k, name)
	}
	return name, nil
}

func listVolumes(k engine.VolumeKind) handle {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		list, err := s.cfg.Engine.Volumes(r.Context(), k)
		if err != nil {
			return err
		}
		items, _ := volumesOf(list)
		return writeJSON(w, http.StatusOK, api.List[api.Volume]{Items: items, Total: len(items)})
	}
}

func createVolume(k engine.VolumeKind) handle {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		var req api.VolumeRequest
		if err := decodeBody(w, r, maxBody, &req); err != nil {
			return err
		}
		if req.Seed != "" {
			if err := insidePath("seed", req.Seed); err != nil {
				return err
			}
		}
		v, err := s.cfg.Engine.CreateVolume(r.Context(), k, req.Name, req.Seed, actor(r))
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusCreated, volumeOf(v))
	}
}

func getVolume(k engine.VolumeKind) handle {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		name, err := nameParam(r, k)
		if err != nil {
			return err
		}
		v, err := s.cfg.Engine.Volume(r.Context(), k, name)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, volumeOf(v))
	}
}

func deleteVolume(k engine.VolumeKind) handle {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		name, err := nameParam(r, k)
		if err != nil {
			return err
		}
		if err := s.cfg.Engine.RemoveVolume(r.Context(), k, name); err != nil {
			return err
		}
		return noContent(w)
	}
}

func (s *Server) prune(w http.ResponseWriter, r *http.Request) error {
	var req api.PruneRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	ctx, e := r.Context(), s.cfg.Engine
	var gone []engine.Volume
	var err error
	switch req.Kind {
	case "volumes":
		gone, err = e.PruneVolumes(ctx, engine.NamedVolume, req.DryRun)
	case "workspaces":
		gone, err = e.PruneVolumes(ctx, engine.NamedWorkspace, req.DryRun)
	case "persist":
		gone, err = e.PruneKept(ctx, req.DryRun)
	case "caches":
		gone, err = e.PruneCaches(ctx, req.DryRun)
	default:
		return sandbox.Errorf(sandbox.Invalid, "unknown kind %.32q", req.Kind).WithHint("one of volumes, workspaces, persist, caches")
	}
	if err != nil {
		return err
	}
	out := api.Pruned{DryRun: req.DryRun}
	out.Removed, out.FreedBytes = volumesOf(gone)
	return writeJSON(w, http.StatusOK, out)
}
