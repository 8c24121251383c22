package server

import (
	"maps"
	"slices"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

// sandboxOf is a view as the API shows it: of the environment only the names,
// since values may be secrets.
func sandboxOf(v engine.View) api.Sandbox {
	s := v.Spec
	out := api.Sandbox{
		ID: string(v.ID), Name: s.Name, Status: string(v.Status), ReviewStatus: v.ReviewStatus,
		Image: s.Image, Driver: v.Driver, DriverReason: v.DriverReason,
		Workspace: workspaceView(s.Workspace, s.Reserve), MergedDir: v.MergedDir,
		Network:  api.Network{Mode: string(s.Network)},
		Limits:   limitsView(s.Limits),
		Security: api.Security{Seccomp: s.Security.Seccomp, ReadonlyRoot: s.Security.ReadonlyRoot, Optional: s.Security.Optional},
		Agent:    api.Agent{Command: s.Agent.Command, Args: s.Agent.Args, User: s.Agent.User},
		Env:      slices.Sorted(maps.Keys(s.Env)),
		Owner:    s.Owner, Labels: s.Labels, Metadata: s.Metadata,
		Mounts: mountsView(s.Mounts), Persist: s.Persist, Cache: s.Cache, Upper: upperView(s.Upper),
		Degraded: make([]api.Degraded, 0, len(v.Degraded)),
		PID:      v.PID, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt, StoppedAt: v.StoppedAt, Version: v.Version,
	}
	if c := s.ImageConfig; c != nil && c.Base {
		out.Base = c.Digest
	}
	for _, d := range v.Degraded {
		out.Degraded = append(out.Degraded, api.Degraded(d))
	}
	if v.Failure != nil {
		f := api.Failure(*v.Failure)
		out.Failure = &f
	}
	return out
}

func workspaceView(w sandbox.Workspace, reserve []string) api.Workspace {
	out := api.Workspace{Source: w.Source, Mode: string(w.Mode), Path: w.Path, Reserve: reserve}
	if w.Mode == sandbox.ModeOverlay {
		out.Repo = &w.Repo
	}
	return out
}

func limitsView(l sandbox.Limits) api.Limits {
	return api.Limits{
		CPU: l.CPU, Memory: api.Size(l.MemoryBytes), PIDs: l.PIDs,
		Disk: api.Size(l.DiskBytes), ExecTimeout: api.Duration(l.ExecTimeout),
	}
}
