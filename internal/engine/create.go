package engine

import (
	"context"
	"os"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/workspace"
)

// undo is a stack of releases, run backwards when a create fails.
type undo []func()

func (u *undo) add(f func()) { *u = append(*u, f) }

func (u *undo) run() {
	for i := len(*u) - 1; i >= 0; i-- {
		(*u)[i]()
	}
}

// Create makes a sandbox and starts it. replayed says that the idempotency key
// was used before and the sandbox is the one it made then.
func (e *Engine) Create(ctx context.Context, spec sandbox.Spec, o CreateOptions) (v View, replayed bool, err error) {
	spec = spec.WithDefaults()
	if err := spec.Validate(); err != nil {
		return View{}, false, err
	}
	if o.IdempotencyKey != "" {
		if v, err, ok := e.replay(ctx, o); ok {
			return v, err == nil, err
		}
	}
	release, err := e.chooseImage(ctx, &spec, o)
	if err != nil {
		return View{}, false, err
	}
	defer release()
	for i := range spec.Mounts {
		spec.Mounts[i].UID = e.asker(o.Actor)
	}
	src, err := e.openPath(&spec)
	if err != nil {
		return View{}, false, err
	}
	if src != nil {
		defer src.Close()
	}
	v, err = e.create(ctx, spec, src, o)
	if o.IdempotencyKey != "" && sandbox.CodeOf(err) == sandbox.Conflict {
		if v, rerr, ok := e.replay(ctx, o); ok { // another request with the key was faster
			return v, rerr == nil, rerr
		}
	}
	return v, false, err
}

// replay answers a create whose key is known.
func (e *Engine) replay(ctx context.Context, o CreateOptions) (View, error, bool) {
	r, err := e.Store.ByKey(ctx, o.IdempotencyKey)
	if sandbox.CodeOf(err) == sandbox.NotFound && err != nil {
		return View{}, nil, false
	}
	if err != nil {
		return View{}, err, true
	}
	switch {
	case r.RequestHash != o.RequestHash:
		err = sandbox.Errorf(sandbox.Conflict, "the idempotency key was used for another request").
			WithHint("use a new key for a new request")
	case r.Status == sandbox.Deleted:
		err = sandbox.Errorf(sandbox.Gone, "the sandbox made with this idempotency key was deleted")
	case r.Status == sandbox.Creating:
		err = sandbox.Errorf(sandbox.Conflict, "the sandbox of this idempotency key is still being created").
			WithHint("ask again in a moment")
	}
	return e.view(r), err, true
}

// openSource opens what the workspace is made from, nil for an empty one. A named
// workspace must be held before: otherwise somebody could remove it meanwhile.
func (e *Engine) openSource(ctx context.Context, spec *sandbox.Spec) (*workspace.Source, error) {
	if spec.Workspace.Mode == sandbox.ModeVolume {
		return e.openNamed(ctx, spec.Workspace.Source)
	}
	return e.openPath(spec)
}

// openPath opens the workspace's directory and writes its real path into the spec.
func (e *Engine) openPath(spec *sandbox.Spec) (*workspace.Source, error) {
	if spec.Workspace.Source == "" || spec.Workspace.Mode == sandbox.ModeVolume {
		return nil, nil
	}
	src, err := workspace.Open(spec.Workspace.Source, e.Home)
	if err != nil {
		return nil, err
	}
	spec.Workspace.Source = src.Path
	return src, nil
}

// create does it step by step, each release registered right after its
// acquisition. The record is written while the files are prepared and PID 1 is
// cloned; PID 1 gets its orders only when it has been. A directory without a
// record is removed by the next recovery, so the order does not matter to it.
func (e *Engine) create(ctx context.Context, spec sandbox.Spec, src *workspace.Source, o CreateOptions) (v View, err error) {
	var u undo
	defer func() {
		if err != nil {
			u.run()
		}
	}()
	r := &sandbox.Record{
		ID: sandbox.NewID(time.Now()), Spec: spec, Status: sandbox.Creating, ReviewStatus: sandbox.ReviewPending,
		Driver:         firstDriver(spec),
		IdempotencyKey: o.IdempotencyKey, RequestHash: o.RequestHash, CreatedAt: time.Now().UTC(),
	}
	if e.root {
		if r.IDBase, err = e.bases.take(); err != nil {
			return v, err
		}
		u.add(func() { e.bases.release(r.IDBase) })
	}
	unlock := e.locks.lock(r.ID)
	defer unlock()
	if r.Spec.Name, err = e.names.take(r); err != nil {
		return v, err
	}
	u.add(func() { e.names.release(r.Spec.Name) })
	if err := e.holds.take(r, e.areas(r)); err != nil {
		return v, err
	}
	u.add(func() { e.letGo(r) })
	if r.Spec.Workspace.Mode == sandbox.ModeVolume {
		if src, err = e.openNamed(ctx, r.Spec.Workspace.Source); err != nil {
			return v, diskError(err)
		}
		defer src.Close()
	}
	first := *r // the original goes on being written to
	inserted := begin(func() (*sandbox.Record, error) {
		return &first, e.Store.Create(ctx, &first, created(&first, o.Actor))
	})
	u.add(func() {
		if _, ierr := inserted.wait(); ierr == nil {
			e.purge(r, o.Actor, err)
		}
	})
	if err := os.MkdirAll(e.dir(r.ID), 0o700); err != nil {
		return v, diskError(err)
	}
	u.add(func() { e.removeDir(r.ID) })
	defer e.recordBaseline(r).wait() //nolint:errcheck // it has none; the directory must be there before and after
	l, err := e.launch(ctx, r, src, func() error {
		c, err := inserted.wait()
		r.Version = c.Version
		return err
	})
	if err != nil {
		return v, diskError(err)
	}
	u.add(func() { e.end(l) })
	if err := e.begin(ctx, l); err != nil {
		return v, err
	}
	r.Status = sandbox.Running
	if err := e.Store.Update(ctx, r, transition(r, sandbox.Creating, o.Actor, "")); err != nil {
		return v, err
	}
	e.attend(r.ID, l)
	return e.view(r), nil
}

// created is the audit line of a new record.
func created(r *sandbox.Record, actor string) sandbox.AuditEntry {
	return sandbox.AuditEntry{
		Event: "create", Sandbox: r.ID, Name: r.Spec.Name, To: sandbox.Creating, Actor: actor, At: time.Now().UTC(),
	}
}

// purge forgets a sandbox that did not come to be. It must happen also when the
// request was cancelled.
func (e *Engine) purge(r *sandbox.Record, actor string, cause error) {
	audit := sandbox.AuditEntry{
		Event: "transition", Sandbox: r.ID, Name: r.Spec.Name, From: sandbox.Creating, To: sandbox.Deleted,
		Actor: actor, Detail: cause.Error(), At: time.Now().UTC(),
	}
	if err := e.Store.Purge(context.Background(), r.ID, audit); err != nil {
		e.Log.Error("purge record", "sandbox", r.ID, "err", err)
	}
}

// transition is the audit line of a change of state.
func transition(r *sandbox.Record, from sandbox.Status, actor, detail string) sandbox.AuditEntry {
	return sandbox.AuditEntry{
		Event: "transition", Sandbox: r.ID, Name: r.Spec.Name, From: from, To: r.Status,
		Actor: actor, Detail: detail, At: time.Now().UTC(),
	}
}
