package engine

import (
	"context"
	"path/filepath"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/sandbox"
)

// conclude decides what becomes of a sandbox whose command has ended.
func (e *Engine) conclude(ctx context.Context, id sandbox.ID, on OnExit) (kept bool, err error) {
	switch on {
	case Remove:
	case RemoveIfUnchanged:
		changed, err := e.changed(ctx, id)
		if err != nil || changed {
			return true, err
		}
	default:
		return true, nil
	}
	err = e.Delete(ctx, string(id), "daemon")
	if c := sandbox.CodeOf(err); err != nil && (c == sandbox.NotFound || c == sandbox.Gone) {
		return false, nil // somebody was faster
	}
	return err != nil, err
}

// changed reports whether a sandbox's workspace differs from its project.
func (e *Engine) changed(ctx context.Context, id sandbox.ID) (bool, error) {
	r, err := e.Store.Get(ctx, id)
	if err != nil {
		return false, err
	}
	if r.Spec.Workspace.Mode != sandbox.ModeOverlay {
		return false, nil
	}
	return changes.Any(ctx, r.Spec.Workspace.Source, filepath.Join(e.dir(id), "upper", "workspace"))
}
