package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coop-dev/coop/internal/linux/diskuse"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

// GCPolicy says which sandboxes may be reclaimed; see api.GCRequest.
type GCPolicy struct {
	OlderThan, Idle time.Duration
	MaxTotalBytes   int64
	Statuses        []sandbox.Status
	Named           []string
	DryRun          bool
}

// Garbage is one sandbox that a collection looked at.
type Garbage struct {
	ID        sandbox.ID
	Name      string
	Reason    string
	Bytes     int64
	CreatedAt time.Time
}

// Collection is what became of them.
type Collection struct {
	Collected, Kept []Garbage
	TotalBytes      int64
}

// candidate is a sandbox with what decides about it.
type candidate struct {
	record *sandbox.Record
	bytes  int64
	active time.Time // when something last happened to it
	named  bool
}

// GC removes sandboxes that nobody needs, each with a reason. Every removal is
// an ordinary delete, so a crash in the middle leaves some removed and the rest
// as they were.
func (e *Engine) GC(ctx context.Context, p GCPolicy, actor string) (Collection, error) {
	var out Collection
	if len(p.Statuses) == 0 {
		p.Statuses = []sandbox.Status{sandbox.Stopped, sandbox.Failed}
	}
	all, err := e.candidates(ctx, p.Named)
	if err != nil {
		return out, err
	}
	for _, c := range all {
		out.TotalBytes += c.bytes
	}
	over := out.TotalBytes - p.MaxTotalBytes
	for _, c := range all {
		reason := c.reason(p, over, time.Now())
		if reason == "" {
			continue
		}
		g := Garbage{ID: c.record.ID, Name: c.record.Spec.Name, Reason: reason, Bytes: c.bytes, CreatedAt: c.record.CreatedAt}
		kept, err := e.collect(ctx, c, p.DryRun, actor)
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if err != nil {
			kept = "cannot be removed: " + err.Error()
		}
		if kept != "" {
			g.Reason = kept
			out.Kept = append(out.Kept, g)
			continue
		}
		over -= c.bytes
		out.Collected = append(out.Collected, g)
	}
	return out, nil
}

// reason says why a sandbox is garbage, "" when it is not. over is by how much
// all together exceed what they may take.
func (c candidate) reason(p GCPolicy, over int64, now time.Time) string {
	age, idle := now.Sub(c.record.CreatedAt), now.Sub(c.active)
	switch {
	case c.named:
		return "named"
	case len(p.Named) > 0 || !slices.Contains(p.Statuses, c.record.Status):
		return ""
	case p.OlderThan > 0 && age > p.OlderThan:
		return fmt.Sprintf("%s, made %s ago", c.record.Status, roughly(age))
	case p.Idle > 0 && idle > p.Idle:
		return fmt.Sprintf("%s, idle for %s", c.record.Status, roughly(idle))
	case p.MaxTotalBytes > 0 && over > 0:
		return fmt.Sprintf("%s, longest idle while all together take too much", c.record.Status)
	case p.OlderThan == 0 && p.Idle == 0 && p.MaxTotalBytes == 0:
		return string(c.record.Status) + ", nothing pending"
	}
	return ""
}

func roughly(d time.Duration) time.Duration {
	if d < time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Minute)
}

// collect removes one, or says why it has to stay.
func (e *Engine) collect(ctx context.Context, c candidate, dry bool, actor string) (kept string, err error) {
	if !c.named {
		pending, err := e.pending(ctx, c.record)
		if err != nil || pending {
			return "changes wait for a review", err
		}
	}
	if dry {
		return "", nil
	}
	err = e.Delete(ctx, string(c.record.ID), actor)
	if code := sandbox.CodeOf(err); code == sandbox.Gone || code == sandbox.NotFound {
		return "", nil // somebody was faster
	}
	return "", err
}

// pending reports whether somebody's work would be lost with a sandbox.
func (e *Engine) pending(ctx context.Context, r *sandbox.Record) (bool, error) {
	if r.Spec.Workspace.Mode != sandbox.ModeNone {
		return e.changed(ctx, r.ID)
	}
	// Without a project all there is of the work is in the upper layer.
	upper, path := filepath.Join(e.memory.dir(r.ID, e.dir(r.ID)), "upper"), r.Spec.Workspace.Path
	for _, dir := range []string{filepath.Join(upper, "root", path), filepath.Join(upper, path)} { // /opt has a layer of its own
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return true, err
		}
		if len(entries) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// candidates gives every sandbox, the longest idle first.
func (e *Engine) candidates(ctx context.Context, named []string) ([]candidate, error) {
	chosen := map[sandbox.ID]bool{}
	for _, ref := range named {
		r, err := e.Store.Resolve(ctx, ref)
		if err != nil {
			return nil, err
		}
		chosen[r.ID] = true
	}
	var all []candidate
	for cursor := ""; ; {
		page, err := e.Store.List(ctx, store.Filter{Limit: 1000, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, r := range page.Records {
			bytes, err := diskuse.Tree(ctx, e.dir(r.ID))
			if err != nil {
				return nil, err
			}
			all = append(all, candidate{record: r, bytes: bytes, active: e.lastActive(r), named: chosen[r.ID]})
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.active.UnixNano(), b.active.UnixNano()) })
	return all, nil
}

// lastActive is when something last happened to a sandbox. One that runs may be
// written to by what runs in it, which nobody reports.
func (e *Engine) lastActive(r *sandbox.Record) time.Time {
	at := r.UpdatedAt
	if r.StoppedAt != nil && r.StoppedAt.After(at) {
		at = *r.StoppedAt
	}
	return at
}
