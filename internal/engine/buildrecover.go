package engine

import (
	"context"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// keepFailed notes that the sandbox of a step stays, also for the next daemon.
func (e *Engine) keepFailed(id sandbox.ID) error {
	unlock := e.locks.lock(id)
	defer unlock()
	ctx := context.Background() // the step has failed whoever is still interested
	r, err := e.Store.Get(ctx, id)
	if err != nil {
		return err
	}
	c := *r.Spec.ImageConfig
	c.Failed = true
	r.Spec.ImageConfig = &c
	return e.Store.Update(ctx, r, sandbox.AuditEntry{
		Event: "build", Sandbox: r.ID, Name: r.Spec.Name, Actor: "daemon", Detail: "step failed", At: time.Now().UTC(),
	})
}

// recoverBuilds removes the sandboxes of builds that ended with their daemon.
// What they made is worth nothing half done; layers that were finished are found
// by the next build.
func (e *Engine) recoverBuilds(ctx context.Context, known map[sandbox.ID]*sandbox.Record) {
	for id, r := range known {
		c := r.Spec.ImageConfig
		if c == nil || c.Makes == "" || c.Failed || r.Status == sandbox.Creating || r.Status == sandbox.Deleted {
			continue
		}
		if err := e.Delete(ctx, string(id), "daemon"); err != nil && sandbox.CodeOf(err) != sandbox.NotFound && sandbox.CodeOf(err) != sandbox.Gone {
			e.Log.Error("remove sandbox of interrupted build", "sandbox", id, "err", err)
			continue
		}
		delete(known, id) // its directory is nobody's any more
	}
}
