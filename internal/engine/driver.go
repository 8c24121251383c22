package engine

import (
	"context"
	"errors"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/rootfs"
	"github.com/coop-dev/coop/internal/sandbox"
)

// filesystem is what a sandbox sees, and how its workspace came about.
type filesystem struct {
	*rootfs.Result
	driver, reason string
}

// firstDriver is what is tried first: the one that was asked for, or overlayfs.
func firstDriver(s sandbox.Spec) string {
	if s.Driver == rootfs.Copy {
		return rootfs.Copy
	}
	return rootfs.Overlay
}

// makeFiles makes directories and mounts. For a new sandbox that asks for no
// driver, a project that overlayfs cannot lie over is copied; trying is the only
// probe that answers for this very directory. A driver that was asked for must
// work.
func (e *Engine) makeFiles(ctx context.Context, p rootfs.Params, fresh bool) (filesystem, error) {
	if !fresh {
		if err := e.repair(ctx, p); err != nil {
			return filesystem{}, err
		}
	}
	res, err := e.tryFiles(ctx, p, fresh)
	var refused *rootfs.WorkspaceError
	switch {
	case err == nil:
		return filesystem{res, p.Driver, reason(p, res)}, nil
	case !fresh || p.Spec.Driver != "auto" || !errors.As(err, &refused):
		return filesystem{}, err
	}
	cause := "overlayfs cannot be used: " + refused.Error()
	p.Driver = rootfs.Copy
	if res, err = e.tryFiles(ctx, p, fresh); err != nil {
		return filesystem{}, sandbox.Errorf(sandbox.CodeOf(err), "%s; and copying failed: %w", cause, err).
			WithHint("use --mode bind, or a project on another filesystem")
	}
	return filesystem{res, p.Driver, cause + withoutRepo(res)}, nil
}

// repair readies the layer of a sandbox that is started again.
func (e *Engine) repair(ctx context.Context, p rootfs.Params) error {
	if !e.root || p.Spec.Workspace.Mode != sandbox.ModeOverlay || p.Driver != rootfs.Overlay {
		return nil // only overlays of real root have redirects
	}
	n, err := changes.DropDeadRedirects(ctx, p.Workspace.Path, changes.Layer{Dir: rootfs.Layer(p.Dir), Trusted: true})
	if n > 0 {
		e.Log.Info("moved directories whose project has moved too", "dir", p.Dir, "count", n)
	}
	return err
}

func (e *Engine) tryFiles(ctx context.Context, p rootfs.Params, fresh bool) (*rootfs.Result, error) {
	if err := e.build.Prepare(ctx, p, fresh); err != nil {
		return nil, err
	}
	return e.build.Build(ctx, p)
}

func reason(p rootfs.Params, res *rootfs.Result) string {
	if p.Spec.Driver != "auto" {
		return "asked for" + withoutRepo(res)
	}
	return "the kernel's overlayfs works here"
}

func withoutRepo(res *rootfs.Result) string {
	if res.NoRepo == nil {
		return ""
	}
	return "; the original is not shown at " + sandbox.RepoPath + ": " + res.NoRepo.Error()
}
