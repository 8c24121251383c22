package review

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/linux/within"
)

// Rebased is what a rebase did.
type Rebased struct {
	Base      time.Time
	Merged    []string
	Conflicts []Conflict // that are still there
	Status    string
}

// tick is how far the clock of inodes may be behind ours: the kernel stamps them
// with the time of its last timer interrupt.
const tick = 10 * time.Millisecond

// Conflicts lists what has changed on both sides.
func (r *Review) Conflicts(ctx context.Context) ([]Conflict, error) {
	_, list, err := r.survey(ctx)
	return list, err
}

// survey reads everything pending and judges it.
func (r *Review) survey(ctx context.Context) ([]*pick, []Conflict, error) {
	list, err := r.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	var picks []*pick
	for _, c := range list {
		if !c.Pending() {
			continue
		}
		p := &pick{Change: c}
		if p.seen, err = r.look(p.Path); err != nil {
			return nil, nil, err
		}
		if c.Kind == changes.Renamed {
			if p.oldSeen, err = r.look(p.OldPath); err != nil {
				return nil, nil, err
			}
		}
		if r.suspicious(p) { // contents are read only where both sides have changed
			if err := r.read(p); err != nil {
				return nil, nil, err
			}
		}
		picks = append(picks, p)
	}
	conflicts, err := r.conflicts(ctx, picks)
	if conflicts == nil {
		conflicts = []Conflict{}
	}
	return picks, conflicts, err
}

// Rebase takes the project's present state as the base. What merges is merged
// into the workspace; what does not stays a conflict, unless force says that the
// workspace's version counts.
func (r *Review) Rebase(ctx context.Context, force bool) (*Rebased, error) {
	at := time.Now().Add(-tick)
	picks, conflicts, err := r.survey(ctx)
	if err != nil {
		return nil, err
	}
	by := map[string]*pick{}
	for _, p := range picks {
		by[p.Path] = p
	}
	out := &Rebased{Base: at, Merged: []string{}, Conflicts: []Conflict{}}
	var merges []*pick
	for _, c := range conflicts {
		p := by[c.Path]
		switch {
		case c.Resolution == Merges:
			merges = append(merges, p)
			out.Merged = append(out.Merged, c.Path)
		case force:
			r.state.note(p.Path).Held = false
		default:
			out.Conflicts = append(out.Conflicts, c)
			if err := r.hold(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	if err := r.mergeInto(ctx, merges); err != nil {
		return nil, err
	}
	if err := r.moveBase(at); err != nil {
		return nil, err
	}
	n, err := r.remaining(ctx)
	out.Status = r.status(n)
	return out, err
}

// hold keeps a conflict one although the base moves on, with the content that
// both sides descend from.
func (r *Review) hold(ctx context.Context, p *pick) error {
	e := r.state.note(p.Path)
	e.Held = true
	base, ok, err := r.baseOf(ctx, p, r.lookup([]string{p.basePath()}))
	if err != nil || !ok {
		return err
	}
	b := NewBody(base)
	e.Base, err = r.state.saveBase(b.data, b.Sum)
	return err
}

// mergeInto writes merged content into the workspace.
func (r *Review) mergeInto(ctx context.Context, merges []*pick) error {
	if len(merges) == 0 {
		return nil
	}
	mnt, err := r.Mount(ctx)
	if err != nil {
		return err
	}
	defer mnt.Close()
	w := &restorer{Review: r, root: mnt}
	for _, p := range merges {
		if err := w.merge(p); err != nil {
			return fmt.Errorf("merge %.128q: %w", p.Path, err)
		}
		delete(r.state.entries, p.Path)
	}
	return nil
}

func (w *restorer) merge(p *pick) error {
	dir, name, done, err := within.Parent(w.root, p.Path)
	if err != nil {
		return err
	}
	defer done()
	return w.write(dir, name, p.put, within.Stat{Mode: p.New.Mode, MTime: time.Now()})
}

// moveBase records the project's present state.
func (r *Review) moveBase(at time.Time) error {
	r.state.Base = at.UTC()
	if err := os.Remove(filepath.Join(r.Dir, indexFile)); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := RecordBaseline(r.Project, r.Dir); err != nil {
		return err
	}
	return r.state.save()
}
