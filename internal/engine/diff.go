package engine

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/changes/patch"
	"github.com/coop-dev/coop/internal/review"
	"github.com/coop-dev/coop/internal/rootfs"
	"github.com/coop-dev/coop/internal/sandbox"
)

// DiffQuery narrows a diff.
type DiffQuery struct {
	Paths  []string       // of the workspace, relative to it or as the sandbox sees them; none means all
	Text   bool           // with contents; otherwise only what is known without reading them
	Limits changes.Limits // zero fields are the defaults
	Stamps bool           // with fingerprints, for who wants to approve exactly this
}

// Diff calls each for every change of a sandbox's workspace, sorted by path. It reads the layer of a running sandbox as well as that of a stopped
// one, and never writes to it.
func (e *Engine) Diff(ctx context.Context, ref string, q DiffQuery, each func(changes.Change, patch.File) error) error {
	r, err := e.Store.Resolve(ctx, ref)
	if err != nil {
		return err
	}
	w, err := e.openChanges(r)
	if err != nil {
		return err
	}
	defer w.Close()
	paths, err := workspacePaths(q.Paths, r.Spec.Workspace.Path)
	if err != nil {
		return err
	}
	list, err := w.List(ctx, changes.Options{Paths: paths, Limits: q.Limits, Policy: review.PolicyOf(r.Spec.Review)})
	if err != nil {
		return err
	}
	if list, err = e.unsettled(r, list, q.Stamps); err != nil {
		return err
	}
	if q.Text {
		return w.Patch(ctx, list, q.Limits, each)
	}
	for _, c := range list {
		if err := each(c, patch.File{}); err != nil {
			return err
		}
	}
	return nil
}

// workspacePaths makes paths relative to the workspace, which is mounted at root;
// "." is all of it.
func workspacePaths(list []string, root string) ([]string, error) {
	var out []string
	for _, p := range list {
		clean := path.Clean(p)
		if p != "" && (clean == root || clean == ".") {
			return nil, nil
		}
		clean = strings.TrimPrefix(clean, strings.TrimSuffix(root, "/")+"/")
		if p == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsRune(p, 0) {
			return nil, sandbox.Errorf(sandbox.Invalid, "path %.128q is not in the workspace", p).
				WithHint("give it relative to the workspace, or below %s", root)
		}
		out = append(out, clean)
	}
	return out, nil
}

// openChanges opens a sandbox's workspace for reading what it changed.
func (e *Engine) openChanges(r *sandbox.Record) (*changes.Workspace, error) {
	if mode := r.Spec.Workspace.Mode; mode != sandbox.ModeOverlay {
		return nil, sandbox.Errorf(sandbox.Invalid, "a workspace of mode %s keeps no changes to review", mode).
			WithHint("only mode overlay holds them back from the project")
	}
	w, err := changes.Open(r.Spec.Workspace.Source, e.layer(r))
	var missing *fs.PathError
	if !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	if missing.Path == r.Spec.Workspace.Source {
		return nil, sandbox.Errorf(sandbox.Unavailable, "the project %s of sandbox %s is gone: %w", r.Spec.Workspace.Source, r.Spec.Name, err).
			WithHint("put it back where it was; the sandbox still has its changes")
	}
	return nil, sandbox.Errorf(sandbox.Conflict, "sandbox %s is %s and has no workspace", r.Spec.Name, r.Status).
		WithHint("ask again when it is running")
}

// layer is where a sandbox's writes to its workspace lie.
func (e *Engine) layer(r *sandbox.Record) changes.Layer {
	dir := e.dir(r.ID)
	if r.Driver == rootfs.Copy {
		return changes.Layer{Dir: rootfs.Layer(dir), Manifest: rootfs.Manifest(dir)}
	}
	return changes.Layer{Dir: rootfs.Layer(e.memory.dir(r.ID, dir)), Trusted: e.root}
}
