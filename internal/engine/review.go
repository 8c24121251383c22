package engine

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/review"
	"github.com/coop-dev/coop/internal/rootfs"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/workspace"
)

// reviews lets one reviewer at a time decide about a sandbox, and one request at
// a time change a project.
type reviews struct {
	mu       sync.Mutex
	busy     map[sandbox.ID]bool
	projects locks // by path
}

// begin refuses the second of two reviewers.
func (v *reviews) begin(r *sandbox.Record) (end func(), err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.busy[r.ID] {
		return nil, sandbox.Errorf(sandbox.Conflict, "somebody else is reviewing %s this moment", r.Spec.Name).
			WithHint("look at the diff again when they are done")
	}
	if v.busy == nil {
		v.busy = map[sandbox.ID]bool{}
	}
	v.busy[r.ID] = true
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.busy, r.ID)
	}, nil
}

// reviewHome is where journals and saved copies are.
func (e *Engine) reviewHome() string { return filepath.Join(e.Home, "review") }

// Approval asks for changes to be applied.
type Approval struct {
	review.Request
	Version int64 // of the record; 0: any
	Commits bool  // the agent's own commits, whole
}

// Approve applies changes of a sandbox to its project.
func (e *Engine) Approve(ctx context.Context, ref string, a Approval) (*review.Result, View, error) {
	var res *review.Result
	v, err := e.withReview(ctx, ref, a.Version, true, func(r *sandbox.Record, w *review.Review, notes []string) error {
		var err error
		q := a.Request
		q.Book = func(ctx context.Context, res *review.Result) error {
			return e.book(ctx, r, "approve", a.Actor, res.Status, res.Applied, detailOf(r, res))
		}
		if q.Files, err = cleanPaths(q.Files, r); err != nil {
			return err
		}
		if a.Commits {
			res, err = w.ApproveCommits(ctx, q, func(ctx context.Context, base string) (io.ReadCloser, error) { return e.exportCommits(ctx, r, base) })
		} else {
			res, err = w.Approve(ctx, q)
		}
		if err == nil {
			res.Notes = append(notes, res.Notes...)
		}
		return err
	})
	return res, v, err
}

// detailOf is what the audit says beside the paths.
func detailOf(r *sandbox.Record, res *review.Result) any {
	d := struct {
		Files     int      `json:"files"`
		Command   string   `json:"command,omitempty"`
		Commit    string   `json:"commit,omitempty"`
		Merged    []string `json:"merged,omitempty"`
		Overwrote []string `json:"overwrote,omitempty"`
	}{Files: len(res.Applied), Command: strings.Join(append([]string{r.Spec.Agent.Command}, r.Spec.Agent.Args...), " "), Commit: res.Commit}
	for _, c := range res.Conflicts {
		switch c.Resolution {
		case review.Merged:
			d.Merged = append(d.Merged, c.Path)
		case review.Overwritten:
			d.Overwrote = append(d.Overwrote, c.Path)
		}
	}
	return d
}

// Discard drops changes; nil files means all of them, which is a reject.
func (e *Engine) Discard(ctx context.Context, ref string, files []string, version int64, actor string) (*review.Discarded, []string, View, error) {
	var out *review.Discarded
	var told []string
	v, err := e.withReview(ctx, ref, version, false, func(r *sandbox.Record, w *review.Review, notes []string) error {
		told = notes
		clean, err := cleanPaths(files, r)
		if err != nil {
			return err
		}
		event := "discard"
		if files == nil {
			event, clean = "reject", nil
		}
		if out, err = w.Discard(ctx, clean); err != nil {
			return err
		}
		if event == "reject" && out.Status == sandbox.ReviewPending {
			out.Status = sandbox.ReviewRejected // there was nothing to reject
		}
		return e.book(context.WithoutCancel(ctx), r, event, actor, out.Status, out.Paths, map[string]int{"files": len(out.Paths)})
	})
	return out, told, v, err
}

// Rebase takes the project's present state as a sandbox's base.
func (e *Engine) Rebase(ctx context.Context, ref string, force bool, version int64, actor string) (*review.Rebased, []string, View, error) {
	var out *review.Rebased
	var told []string
	v, err := e.withReview(ctx, ref, version, false, func(r *sandbox.Record, w *review.Review, notes []string) (err error) {
		told = notes
		if out, err = w.Rebase(ctx, force); err != nil {
			return err
		}
		detail := map[string]int{"merged": len(out.Merged), "conflicts": len(out.Conflicts)}
		return e.book(context.WithoutCancel(ctx), r, "rebase", actor, out.Status, nil, detail)
	})
	return out, told, v, err
}

// Conflicts lists what has changed in a sandbox and in its project.
func (e *Engine) Conflicts(ctx context.Context, ref string) ([]review.Conflict, []string, error) {
	var list []review.Conflict
	var told []string
	_, err := e.withReview(ctx, ref, 0, false, func(_ *sandbox.Record, w *review.Review, notes []string) (err error) {
		told = notes
		list, err = w.Conflicts(ctx)
		return err
	})
	return list, told, err
}

func cleanPaths(list []string, r *sandbox.Record) ([]string, error) {
	if list == nil {
		return nil, nil
	}
	out := make([]string, len(list))
	for i, p := range list {
		var err error
		if out[i], err = review.CleanPath(p, r.Spec.Workspace.Path); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// withReview opens a sandbox's review under its locks: the sandbox neither
// starts, stops nor goes away meanwhile, and nobody else changes the project.
func (e *Engine) withReview(ctx context.Context, ref string, version int64, check bool, do func(*sandbox.Record, *review.Review, []string) error) (View, error) {
	r, err := e.Store.Resolve(ctx, ref)
	if err != nil {
		return View{}, err
	}
	if _, err := reviewable(r); err != nil {
		return View{}, err
	}
	end, err := e.reviews.begin(r)
	if err != nil {
		return View{}, err
	}
	defer end()
	if check {
		// Without the lock: it may take minutes, and the sandbox must be stoppable.
		if err := e.check(ctx, r); err != nil {
			return View{}, err
		}
	}
	r, unlock, err := e.resolve(ctx, string(r.ID))
	if err != nil {
		return View{}, err
	}
	defer unlock()
	if version != 0 && version != r.Version {
		return View{}, sandbox.Errorf(sandbox.Conflict, "sandbox %s was changed meanwhile (version %d, not %d)", r.Spec.Name, r.Version, version).
			WithDetail("version", r.Version).WithHint("look at the diff again")
	}
	defer e.reviews.projects.lock(sandbox.ID(r.Spec.Workspace.Source))()
	if err := e.settleJournals(ctx, r); err != nil {
		return View{}, err
	}
	w, err := review.Open(e.reviewConfig(r))
	if err != nil {
		return View{}, err
	}
	defer w.Close()
	err = do(r, w, e.takeNotes(r.ID))
	return e.view(r), err
}

// reviewable refuses workspaces that hold nothing back.
func reviewable(r *sandbox.Record) (*sandbox.Record, error) {
	if mode := r.Spec.Workspace.Mode; mode != sandbox.ModeOverlay {
		return nil, sandbox.Errorf(sandbox.Invalid, "a workspace of mode %s keeps no changes to review", mode).
			WithHint("only mode overlay holds them back from the project")
	}
	return r, nil
}

func (e *Engine) reviewConfig(r *sandbox.Record) review.Config {
	uid, gid := ownerInside(r.Spec.Agent.User)
	return review.Config{
		Sandbox: r.ID, Name: r.Spec.Name, Project: r.Spec.Workspace.Source, Layer: e.layer(r), Dir: review.DirOf(e.dir(r.ID)),
		Home: e.reviewHome(), Made: r.CreatedAt, Policy: r.Spec.Review, RealRoot: e.root,
		OwnerUID: r.IDBase + uid, OwnerGID: r.IDBase + gid,
		Mount: func(ctx context.Context) (*os.File, error) { return e.openWorkspace(ctx, r) },
	}
}

// openWorkspace opens the workspace as the sandbox sees it: through PID 1 while
// it runs, otherwise as a mount of our own.
func (e *Engine) openWorkspace(ctx context.Context, r *sandbox.Record) (*os.File, error) {
	if l := e.running(r.ID); l != nil {
		return e.workspaceInside(ctx, l)
	}
	if r.Driver == rootfs.Copy {
		return os.Open(rootfs.Layer(e.dir(r.ID)))
	}
	src, err := workspace.Open(r.Spec.Workspace.Source, e.Home)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	p := rootfs.Params{Dir: e.dir(r.ID), Spec: r.Spec, IDBase: r.IDBase, Workspace: src}
	p.OwnerUID, p.OwnerGID = ownerInside(r.Spec.Agent.User)
	p.Memory = e.memory.of(r.ID)
	return e.build.MountWorkspace(p)
}

// workspaceInside follows no link on the way and wants the root of a mount: a
// program inside may have put something else at a directory above it, but it can
// neither move a mount nor make one.
func (e *Engine) workspaceInside(ctx context.Context, l *live) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	root, err := l.init.Open(ctx, "/", os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := within.OpenMounted(root, strings.TrimPrefix(l.spec.Workspace.Path, "/"))
	if err != nil {
		return nil, err
	}
	if !within.IsMountRoot(f) {
		f.Close()
		return nil, sandbox.Errorf(sandbox.Conflict, "the workspace was moved away inside the sandbox").WithHint("stop it, then try again")
	}
	return f, nil
}

// book writes the outcome into the record, with the audit line and its files.
func (e *Engine) book(ctx context.Context, r *sandbox.Record, event, actor, status string, paths []string, detail any) error {
	text, err := json.Marshal(detail)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	r.ReviewStatus, r.UpdatedAt = status, now
	return e.Store.Update(ctx, r, sandbox.AuditEntry{
		Event: event, Sandbox: r.ID, Name: r.Spec.Name, Actor: actor, At: now, Detail: string(text),
		Project: r.Spec.Workspace.Source, Paths: paths,
	})
}

// recordBaseline notes what the project is when a sandbox is made of it. Without
// it fewer conflicts can be merged: no reason to make no sandbox.
func (e *Engine) recordBaseline(r *sandbox.Record) *promise[struct{}] {
	return begin(func() (struct{}, error) {
		if r.Spec.Workspace.Mode != sandbox.ModeOverlay {
			return struct{}{}, nil
		}
		err := review.RecordBaseline(r.Spec.Workspace.Source, review.DirOf(e.dir(r.ID)))
		if err != nil {
			e.Log.Warn("record the project's state", "sandbox", r.ID, "err", err)
		}
		return struct{}{}, nil
	})
}

// compact makes a sandbox that is about to start see the project's files where
// its own were approved or discarded.
func (e *Engine) compact(r *sandbox.Record) {
	if r.Spec.Workspace.Mode != sandbox.ModeOverlay || r.Driver == rootfs.Copy {
		return // a copy is all the sandbox has
	}
	if err := review.Compact(e.reviewConfig(r)); err != nil {
		e.Log.Warn("compact the layer", "sandbox", r.ID, "err", err)
	}
}

// unsettled leaves out of a list what was approved or discarded already. With
// stamps, each change is marked with how it looks now.
func (e *Engine) unsettled(r *sandbox.Record, list []changes.Change, stamps bool) ([]changes.Change, error) {
	state, err := review.LoadState(review.DirOf(e.dir(r.ID)))
	if err != nil {
		return nil, err
	}
	layer, err := os.Open(e.layer(r).Dir)
	if err != nil {
		return nil, err
	}
	defer layer.Close()
	if list, err = state.Unsettled(list, layer); err != nil || !stamps {
		return list, err
	}
	project, err := os.Open(r.Spec.Workspace.Source)
	if err != nil {
		return nil, err
	}
	defer project.Close()
	for i := range list {
		list[i].Fingerprint = review.Fingerprint(project, layer, list[i])
	}
	return list, nil
}
