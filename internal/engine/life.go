package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/coop-dev/coop/internal/linux/cgroup"
	"github.com/coop-dev/coop/internal/linux/rmtree"
	"github.com/coop-dev/coop/internal/sandbox"
)

// answerTime is how long PID 1 may take for what it does at once.
const answerTime = 5 * time.Second

// DefaultGrace is how long programs may take after SIGTERM.
const DefaultGrace = 5 * time.Second

// attend enters a running sandbox and watches for its end.
func (e *Engine) attend(id sandbox.ID, l *live) {
	e.setLive(id, l)
	go func() {
		<-l.init.Lost()
		e.lost(id, l)
	}()
}

// lost is called when PID 1 has hung up. If we did not do it ourselves, PID 1
// was killed from outside, by the kernel for want of memory for instance.
func (e *Engine) lost(id sandbox.ID, l *live) {
	if e.running(id) != l {
		return
	}
	unlock := e.locks.lock(id)
	defer unlock()
	if e.running(id) != l {
		return
	}
	ctx := context.Background()
	l.terminals.settle(true)
	l.terminals.drain(ctx) // what they wrote is still in memory we hold
	e.end(l)
	e.setLive(id, nil)
	r, err := e.Store.Get(ctx, id)
	if err != nil || r.Status != sandbox.Running {
		return
	}
	detail := "PID 1 ended unexpectedly"
	e.Log.Warn("sandbox ended unexpectedly", "sandbox", id)
	if err := e.settle(ctx, r, sandbox.Stopped, "daemon", detail); err != nil {
		e.Log.Error("note end of sandbox", "sandbox", id, "err", err)
	}
}

// settle writes a new state.
func (e *Engine) settle(ctx context.Context, r *sandbox.Record, to sandbox.Status, actor, detail string) error {
	from := r.Status
	now := time.Now().UTC()
	r.Status, r.UpdatedAt = to, now
	switch to {
	case sandbox.Stopped:
		r.StoppedAt = &now
	case sandbox.Deleted:
		r.DeletedAt = &now
	case sandbox.Running:
		r.StoppedAt, r.Failure = nil, nil
	}
	return e.Store.Update(ctx, r, transition(r, from, actor, detail))
}

// end kills what runs and returns when processes and control group are gone.
func (e *Engine) end(l *live) {
	defer l.terminals.closeAll("the sandbox has ended") // not before: the last output can still be read
	if err := l.init.Kill(context.Background()); err != nil {
		e.Log.Error("kill PID 1", "err", err)
	}
	l.init.Close()
	if l.group != nil {
		e.removeGroup("", l.group)
	}
}

func (e *Engine) removeGroup(id sandbox.ID, g *cgroup.Group) {
	if err := errors.Join(g.Kill(), g.Remove(context.Background())); err != nil {
		e.Log.Error("remove control group", "sandbox", id, "err", err)
	}
	_ = g.Close() // descriptors only
}

// removeDir makes a sandbox's directory disappear at once and then removes it.
func (e *Engine) removeDir(id sandbox.ID) {
	if err := e.deleteDir(id); err != nil {
		e.Log.Error("remove directory", "sandbox", id, "err", err)
	}
}

func (e *Engine) deleteDir(id sandbox.ID) error {
	if err := os.Rename(e.dir(id), e.doomed(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return rmtree.Remove(e.doomed(id))
}

// resolve finds a sandbox and locks it; the record is read under the lock.
func (e *Engine) resolve(ctx context.Context, ref string) (*sandbox.Record, func(), error) {
	found, err := e.Store.Resolve(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	unlock := e.locks.lock(found.ID)
	r, err := e.Store.Resolve(ctx, string(found.ID))
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return r, unlock, nil
}

// Delete removes a sandbox. It returns when nothing of it is left.
func (e *Engine) Delete(ctx context.Context, ref, actor string) error {
	r, unlock, err := e.resolve(ctx, ref)
	if err != nil {
		return err
	}
	defer unlock()
	ctx = context.WithoutCancel(ctx) // begun is begun: half a delete helps nobody
	if l := e.running(r.ID); l != nil {
		e.end(l)
		e.setLive(r.ID, nil)
	} else {
		e.destroy(e.dir(r.ID)) // a PID 1 that could not be reached
	}
	if err := e.deleteDir(r.ID); err != nil {
		return sandbox.Errorf(sandbox.Internal, "remove the sandbox's files: %w", err)
	}
	if err := e.settle(ctx, r, sandbox.Deleted, actor, ""); err != nil {
		return err
	}
	e.forget(r)
	e.takeNotes(r.ID) // nobody will review it any more
	return nil
}

// forget frees what a record held in our own books.
func (e *Engine) forget(r *sandbox.Record) {
	e.bases.release(r.IDBase)
	e.names.release(r.Spec.Name)
	e.letGo(r)
}

// Stop ends the programs, gently at first, and keeps the files.
func (e *Engine) Stop(ctx context.Context, ref string, grace time.Duration, actor string) (View, error) {
	r, unlock, err := e.resolve(ctx, ref)
	if err != nil {
		return View{}, err
	}
	defer unlock()
	l := e.running(r.ID)
	if l == nil {
		return e.view(r), nil // stopping twice is stopping
	}
	if err := e.mayLose(ctx, r); err != nil {
		return View{}, err
	}
	// A PID 1 that does not answer, stopped by a debugger for instance, must not
	// hold this up: it is killed below in any case.
	patient, cancel := context.WithTimeout(ctx, grace+answerTime)
	defer cancel()
	l.terminals.settle(true)
	if err := l.init.Terminate(patient, grace); err != nil && ctx.Err() != nil {
		l.terminals.settle(false)
		return View{}, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	if err := e.mayLose(ctx, r); err != nil { // written while it was being stopped
		l.terminals.settle(false)
		return View{}, err
	}
	l.terminals.lastWords(ctx)
	e.end(l)
	e.memory.drop(r.ID)
	e.setLive(r.ID, nil)
	if err := e.settle(ctx, r, sandbox.Stopped, actor, ""); err != nil {
		return View{}, err
	}
	return e.view(r), nil
}

// Start brings a stopped sandbox up again with the files it had.
func (e *Engine) Start(ctx context.Context, ref, actor string) (View, error) {
	r, unlock, err := e.resolve(ctx, ref)
	if err != nil {
		return View{}, err
	}
	defer unlock()
	if e.running(r.ID) != nil {
		return e.view(r), nil
	}
	e.destroy(e.dir(r.ID)) // a PID 1 that could not be reached
	e.compact(r)
	spec := r.Spec
	src, err := e.openSource(ctx, &spec)
	if err != nil {
		return View{}, err
	}
	if src != nil {
		defer src.Close()
	}
	l, err := e.launch(ctx, r, src, nil)
	if err != nil {
		return View{}, diskError(err)
	}
	if err := e.begin(ctx, l); err != nil {
		e.end(l)
		return View{}, err
	}
	if err := e.settle(ctx, r, sandbox.Running, actor, ""); err != nil {
		e.end(l)
		return View{}, err
	}
	e.attend(r.ID, l)
	return e.view(r), nil
}

// begin starts what a sandbox is for: its agent, if it has one.
func (e *Engine) begin(ctx context.Context, l *live) error {
	if l.spec.Agent.Command == "" {
		return nil
	}
	_, _, err := e.startAgent(ctx, l, 0, 0)
	return err
}

// StopAll stops every running sandbox, for a shutdown that keeps none.
func (e *Engine) StopAll(ctx context.Context, grace time.Duration, actor string) error {
	e.mu.Lock()
	ids := make([]sandbox.ID, 0, len(e.live))
	for id := range e.live {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	errs := make(chan error, len(ids))
	for _, id := range ids {
		go func() {
			_, err := e.Stop(ctx, string(id), grace, actor)
			errs <- err
		}()
	}
	var all error
	for range ids {
		all = errors.Join(all, <-errs)
	}
	return all
}
