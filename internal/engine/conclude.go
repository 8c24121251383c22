package engine

import (
	"context"
	"errors"
	"io/fs"

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
	w, err := e.openChanges(r)
	if err != nil {
		// With the project gone, the workspace is all there is of it.
		return errors.Is(err, fs.ErrNotExist), ignoreNotExist(err)
	}
	defer w.Close()
	return w.Any(ctx)
}

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
