package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/coop-dev/coop/internal/launch"
	"github.com/coop-dev/coop/internal/linux/cgroup"
	"github.com/coop-dev/coop/internal/linux/rmtree"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

// Found is what a recovery met.
type Found struct {
	Running, Stopped, Unreachable, Unfinished, Strays int
}

// Recover brings store, directories, control groups and live PID 1s into
// agreement after whatever ended the last daemon. Starting is recovering: there
// is no other way to start.
//
//	record    directory  PID 1   becomes
//	creating  any        any     nothing: it was never given to anybody
//	any       gone       -       deleted: its delete was interrupted
//	any       there      alive   running
//	any       there      mute    error, and is left alone
//	running   there      gone    stopped
//	none      there      any     nothing; left alone if anything was written in it:
//	                             then it is the record that was lost
func (e *Engine) Recover(ctx context.Context) (Found, error) {
	var found Found
	known := map[sandbox.ID]*sandbox.Record{}
	for cursor := ""; ; {
		page, err := e.Store.List(ctx, store.Filter{Limit: 1000, Cursor: cursor})
		if err != nil {
			return found, err
		}
		for _, r := range page.Records {
			known[r.ID] = r
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	e.recoverAll(ctx, known, &found)
	if ctx.Err() != nil { // asked to leave: nothing more is judged
		return found, context.Cause(ctx)
	}
	e.recoverReviews(ctx)
	e.sweepShelves()
	e.recoverBuilds(ctx, known)
	if err := e.strays(ctx, known, &found); err != nil {
		return found, err
	}
	return found, e.strayGroups(ctx, known, &found)
}

// recoverAll looks after every record, a few at a time.
func (e *Engine) recoverAll(ctx context.Context, known map[sandbox.ID]*sandbox.Record, found *Found) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, 8)
	for _, r := range known {
		e.bases.hold(r.IDBase)
		e.names.note(r.Spec.Name, r.ID)
		e.holds.note(r, e.areas(r))
		wg.Add(1)
		go func() {
			defer wg.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			was := e.recoverOne(ctx, r)
			mu.Lock()
			defer mu.Unlock()
			*was(found)++
		}()
	}
	wg.Wait()
}

// recoverOne carries out a line of the table and says which counter it is.
func (e *Engine) recoverOne(ctx context.Context, r *sandbox.Record) func(*Found) *int {
	dir := e.dir(r.ID)
	_, err := os.Stat(dir)
	switch {
	case r.Status == sandbox.Creating:
		e.destroy(dir)
		e.removeDir(r.ID)
		e.purge(r, "daemon", errors.New("the daemon ended during create"))
		e.forget(r)
		return func(f *Found) *int { return &f.Unfinished }
	case errors.Is(err, fs.ErrNotExist):
		e.removeDir(r.ID)
		e.note(ctx, r, sandbox.Deleted, "finished an interrupted delete")
		e.forget(r)
		return func(f *Found) *int { return &f.Unfinished }
	}
	in, err := launch.Connect(ctx, dir)
	if err == nil {
		e.resume(ctx, r, in)
		return func(f *Found) *int { return &f.Running }
	}
	if ctx.Err() != nil { // it was not given the time to answer
		return func(f *Found) *int { return &f.Unreachable }
	}
	if !errors.Is(err, launch.ErrNotRunning) {
		// It lives but cannot be reached. What runs in it may matter to somebody:
		// it is left alone until it is started anew or removed.
		e.Log.Error("reach PID 1", "sandbox", r.ID, "err", err)
		r.Failure = &sandbox.Failure{Step: "reach PID 1", Message: err.Error()}
		if r.Status != sandbox.Failed {
			e.note(ctx, r, sandbox.Failed, err.Error())
		}
		return func(f *Found) *int { return &f.Unreachable }
	}
	e.destroy(dir)
	if r.Status == sandbox.Running || r.Status == sandbox.Frozen {
		e.note(ctx, r, sandbox.Stopped, "found without PID 1: "+err.Error())
	}
	return func(f *Found) *int { return &f.Stopped }
}

func (e *Engine) note(ctx context.Context, r *sandbox.Record, to sandbox.Status, detail string) {
	if err := e.settle(ctx, r, to, "daemon", detail); err != nil {
		e.Log.Error("note recovered state", "sandbox", r.ID, "err", err)
	}
}

// resume takes a living sandbox over.
func (e *Engine) resume(ctx context.Context, r *sandbox.Record, in *launch.Init) {
	l := &live{id: r.ID, spec: r.Spec, made: r.CreatedAt, init: in, terminals: newTerminals()}
	if s, err := launch.ReadState(e.dir(r.ID)); err == nil && s.Cgroup != nil {
		if l.group, err = cgroup.Reopen(*s.Cgroup); err != nil {
			e.Log.Warn("find control group again", "sandbox", r.ID, "err", err)
			l.group = nil
		}
	}
	if r.Status != sandbox.Running {
		e.note(ctx, r, sandbox.Running, "found running")
	}
	e.recall(ctx, r, l)
	l.terminals.live.Store(l)
	e.resumeTerminals(l)
	e.attend(r.ID, l)
	for _, x := range in.Execs() {
		go e.orphan(r.ID, x)
	}
}

// orphan looks after a command whose request died with the last daemon. One
// that answered a plain request is of no use to anybody; one that streamed to a
// client goes on, because its work counts, and is concluded when it ends.
func (e *Engine) orphan(id sandbox.ID, x *launch.Exec) {
	var n note
	err := json.Unmarshal([]byte(x.Note), &n)
	select {
	case <-x.Done(): // it ended by itself, and what it left in the background is meant to stay
	default:
		if err != nil || !n.Attached {
			_ = x.Kill(context.Background()) // a sandbox that is gone has nothing to kill
		}
	}
	go func() { _, _ = io.Copy(io.Discard, x.Stdout) }() // until it ends; nobody reads it any more
	go func() { _, _ = io.Copy(io.Discard, x.Stderr) }()
	if _, err := x.Wait(context.Background()); err != nil {
		return
	}
	x.Release()
	if _, err := e.conclude(context.Background(), id, n.OnExit); err != nil {
		e.Log.Error("conclude orphaned exec", "sandbox", id, "err", err)
	}
}

// destroy ends what a directory's state.json still names.
func (e *Engine) destroy(dir string) {
	s, err := launch.ReadState(dir)
	if err != nil {
		return
	}
	if p, err := s.Find(); err == nil {
		_ = p.Kill()                     // it may end by itself meanwhile
		_ = p.Wait(context.Background()) // SIGKILL always comes through
		_ = p.Close()
	}
	if s.Cgroup != nil {
		if g, err := cgroup.Reopen(*s.Cgroup); err == nil {
			e.removeGroup("", g)
		}
	}
}

// strays removes directories no record knows.
func (e *Engine) strays(ctx context.Context, known map[sandbox.ID]*sandbox.Record, found *Found) error {
	all := filepath.Join(e.Home, "sandboxes")
	entries, err := os.ReadDir(all)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	keep := map[string]bool{}
	for _, d := range entries {
		dir := filepath.Join(all, d.Name())
		deleted := strings.HasPrefix(d.Name(), ".deleted-")
		if id := sandbox.ID(d.Name()); known[id] != nil || (!deleted && !e.unknown(ctx, id)) {
			if s, err := launch.ReadState(dir); err == nil {
				keep[s.Host] = true
			}
			continue
		}
		if !deleted {
			found.Strays++
			if holdsWork(dir) {
				e.Log.Warn("a sandbox without a record is left alone: restore the database, or remove its directory", "path", dir)
				continue
			}
			e.destroy(dir)
		}
		if err := rmtree.Remove(dir); err != nil { // no reason to serve nobody
			e.Log.Error("remove stray directory", "path", dir, "err", err)
		}
	}
	if err := e.host.Sweep(func(key string) bool { return keep[key] }); err != nil {
		e.Log.Error("sweep host images", "err", err)
	}
	return nil
}

// holdsWork reports whether anything was written in a sandbox. A database that
// was lost, or another one that was configured, must not cost anybody his work.
func holdsWork(dir string) bool {
	if _, err := launch.ReadState(dir); errors.Is(err, fs.ErrNotExist) {
		return false // nothing ever ran in it: a create was killed before its record was written
	}
	found := errors.New("found")
	err := filepath.WalkDir(filepath.Join(dir, "upper"), func(_ string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return found // what cannot be looked at may be work
		case err == nil && !d.IsDir():
			return found
		}
		return nil
	})
	return err != nil
}

// unknown reports whether the store surely has no living record of an id. A row
// that cannot be read is missing from lists but is no reason to remove files.
func (e *Engine) unknown(ctx context.Context, id sandbox.ID) bool {
	r, err := e.Store.Get(ctx, id)
	if err != nil {
		return sandbox.CodeOf(err) == sandbox.NotFound
	}
	return r.Status == sandbox.Deleted
}

// strayGroups removes control groups of sandboxes that neither run nor are left
// alone because they could not be reached.
func (e *Engine) strayGroups(ctx context.Context, known map[sandbox.ID]*sandbox.Record, found *Found) error {
	states, err := e.Cgroups.Orphans(func(id string) bool {
		r := known[sandbox.ID(id)]
		return e.running(sandbox.ID(id)) != nil || (r != nil && r.Status == sandbox.Failed) ||
			(r == nil && !e.unknown(ctx, sandbox.ID(id)))
	})
	for _, s := range states {
		g, err := cgroup.Reopen(s)
		if err != nil {
			continue // gone since it was listed
		}
		found.Strays++
		e.removeGroup(sandbox.ID(s.ID), g)
	}
	return err
}
