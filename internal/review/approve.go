package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/changes/patch"
	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Request is what a reviewer approves.
type Request struct {
	Files   []string // none, and no hunks: everything that is not flagged
	Hunks   []HunkRef
	Seen    map[string]string // fingerprints of what the reviewer saw, by path
	Flagged bool
	Force   bool
	Auto    bool // only within the policy's thresholds
	Commit  *Commit
	Actor   string
	// Book writes down what happened, between applying it and forgetting the
	// journal: an interruption in between is made good by the recovery.
	Book func(ctx context.Context, res *Result) error
}

// Result is what became of it.
type Result struct {
	Applied   []string
	Remaining int
	Flagged   []string
	Conflicts []Conflict
	Commit    string
	Notes     []string
	Status    string
}

// memo is the note in the journal: what a recovery needs to finish the books.
type memo struct {
	Sandbox sandbox.ID `json:"sandbox"`
	Name    string     `json:"name"`
	Dir     string     `json:"dir"`
	Actor   string     `json:"actor"`
	At      time.Time  `json:"at"`
	Paths   [][]byte   `json:"paths"`
	Entries []*entry   `json:"entries"`
}

// Approve applies what was chosen, all of it or nothing.
func (r *Review) Approve(ctx context.Context, q Request) (*Result, error) {
	list, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	picks, left, notes, err := r.choose(list, choice{q.Files, q.Hunks, q.Flagged})
	if err != nil {
		return nil, err
	}
	res := &Result{Applied: []string{}, Conflicts: []Conflict{}, Flagged: left, Notes: notes}
	for _, p := range picks {
		if err := r.asSeen(p, q.Seen); err != nil {
			return nil, err
		}
		if err := r.read(p); err != nil {
			return nil, err
		}
	}
	if res.Conflicts, err = r.conflicts(ctx, picks); err != nil {
		return nil, err
	}
	if err := r.may(q, res, picks, list); err != nil {
		return nil, err
	}
	if len(picks) > 0 {
		return res, r.apply(ctx, q, res, picks)
	}
	return res, r.count(ctx, res)
}

func (r *Review) count(ctx context.Context, res *Result) (err error) {
	res.Remaining, err = r.remaining(ctx)
	res.Status = r.status(res.Remaining)
	return err
}

// may decides whether what was picked may be applied as it is.
func (r *Review) may(q Request, res *Result, picks []*pick, list []changes.Change) error {
	if q.Auto {
		if err := r.mayAuto(picks, list, res); err != nil {
			return err
		}
	}
	if q.Force {
		return r.overwrite(res.Conflicts, picks, r.savedDir())
	}
	err := refusal(res.Conflicts)
	var known *sandbox.Error
	if errors.As(err, &known) {
		return known.WithDetail("conflicts", res.Conflicts)
	}
	return err
}

// savedDir is where copies of overwritten files of this request go.
func (r *Review) savedDir() string {
	return filepath.Join(r.Home, "saved", string(r.Sandbox), time.Now().UTC().Format("20060102T150405.000000000"))
}

// mayAuto holds changes against the thresholds of the policy.
func (r *Review) mayAuto(picks []*pick, list []changes.Change, res *Result) error {
	limit := r.Policy.AutoApprove
	why := ""
	switch {
	case limit == nil:
		why = "the sandbox's policy has no thresholds"
	case len(res.Flagged) > 0:
		why = fmt.Sprintf("%.128q is flagged", res.Flagged[0])
	case len(res.Conflicts) > 0:
		why = fmt.Sprintf("%.128q has changed on both sides", res.Conflicts[0].Path)
	case len(picks) > limit.MaxFiles:
		why = fmt.Sprintf("%d files are more than %d", len(picks), limit.MaxFiles)
	}
	lines := 0
	for _, p := range picks {
		if p.Binary || p.Large {
			why = fmt.Sprintf("%.128q is binary or large", p.Path)
		}
		lines += r.lines(p)
	}
	for _, c := range list {
		if !c.Pending() && c.Denied != ".git/**" {
			why = fmt.Sprintf("%.128q needs a person", c.Path)
		}
	}
	if limit != nil && why == "" && lines > limit.MaxLines {
		why = fmt.Sprintf("%d lines are more than %d", lines, limit.MaxLines)
	}
	if why != "" {
		return sandbox.Errorf(sandbox.Denied, "not approved automatically: %s", why).WithHint("review it: coop diff")
	}
	return nil
}

// lines counts what a change adds and removes.
func (r *Review) lines(p *pick) int {
	var fresh []byte
	if p.put != nil {
		fresh, _ = p.put.Bytes() // large ones were counted out before
	}
	old, err := r.oldContent(p)
	if err != nil {
		return 1
	}
	n := 0
	for _, h := range patch.Diff(old, fresh) {
		for _, l := range h.Lines {
			if l.Op != ' ' {
				n++
			}
		}
	}
	return max(n, 1)
}

// apply does it: apply, remember, commit, write down.
func (r *Review) apply(ctx context.Context, q Request, res *Result, picks []*pick) error {
	return r.applyThen(ctx, q, res, picks, func(context.Context) {})
}

// applyThen also does what goes with the files, once they are in the project.
func (r *Review) applyThen(ctx context.Context, q Request, res *Result, picks []*pick, then func(context.Context)) error {
	edits, err := r.editsOf(picks, res)
	if err != nil {
		return err
	}
	for i := range res.Conflicts {
		if res.Conflicts[i].Resolution == Merges {
			res.Conflicts[i].Resolution = Merged
		}
	}
	var job *commitJob
	if q.Commit != nil {
		if job, err = r.prepareCommit(ctx, q, res.Applied, edits); err != nil {
			return err
		}
	}
	applied, err := r.run(ctx, q, picks, edits)
	if err != nil {
		if job != nil {
			job.abandon(ctx)
		}
		return err
	}
	ctx = context.WithoutCancel(ctx) // applied is applied
	if err := r.remember(res, picks, applied); err != nil {
		return unrecorded(err)
	}
	if job != nil {
		r.finishCommit(ctx, job, res)
	}
	then(ctx)
	if err := r.count(ctx, res); err != nil {
		return err
	}
	if q.Book != nil {
		if err := q.Book(ctx, res); err != nil {
			return unrecorded(err)
		}
	}
	if err := applied.Forget(); err != nil {
		res.Notes = append(res.Notes, "what was replaced could not be cleaned up yet: "+err.Error())
	}
	return nil
}

// unrecorded: the files are in the project, but our own books are behind. The
// journal is still there, and the next recovery brings them up to date.
func unrecorded(err error) error {
	return fmt.Errorf("the changes are applied, but that could not be written down yet: %w", err)
}

func (r *Review) editsOf(picks []*pick, res *Result) ([]Edit, error) {
	var edits []Edit
	for _, p := range picks {
		list, err := p.edits()
		if err != nil {
			return nil, err
		}
		edits = append(edits, list...)
		res.Applied = append(res.Applied, p.Path)
	}
	return edits, nil
}

func (r *Review) run(ctx context.Context, q Request, picks []*pick, edits []Edit) (*Applied, error) {
	note := memo{Sandbox: r.Sandbox, Name: r.Name, Dir: r.Dir, Actor: q.Actor, At: time.Now().UTC()}
	for _, p := range picks {
		note.Paths = append(note.Paths, []byte(p.Path))
		if !p.partly {
			note.Entries = append(note.Entries, &entry{Path: []byte(p.Path), Settled: approved, Layer: p.layer})
		}
	}
	data, err := json.Marshal(note)
	if err != nil {
		return nil, err
	}
	a := &Applier{
		Project: r.project, Path: r.Project, Journal: JournalOf(r.Home, r.Sandbox), Note: data,
		Force: q.Force, Chown: r.RealRoot, Keep: r.keeper(q.Force),
	}
	return a.Apply(ctx, edits)
}

// JournalOf is a sandbox's journal: outside of its directory, so that removing
// the sandbox does not remove the way back.
func JournalOf(home string, id sandbox.ID) string { return filepath.Join(home, string(id)+".journal") }

// keeper protects what a directory that is to be removed holds of others.
func (r *Review) keeper(force bool) func(string, within.Stat) string {
	return func(path string, st within.Stat) string {
		switch {
		case strings.EqualFold(filepath.Base(path), ".git"):
			return "is git's"
		case !force && r.foreign(path, st):
			return "has changed since the sandbox was made"
		}
		return ""
	}
}

// remember writes down what was settled.
func (r *Review) remember(res *Result, picks []*pick, applied *Applied) error {
	merged := map[string]bool{}
	for _, c := range res.Conflicts {
		merged[c.Path] = c.Resolution == Merged
	}
	for _, p := range picks {
		e := r.state.note(p.Path)
		e.Layer, e.Settled, e.Base, e.Held = p.layer, approved, "", false
		if p.partly {
			e.Settled = ""
		}
		e.Project = stamp{}
		if st, ok := applied.Now[p.Path]; ok && !merged[p.Path] {
			e.Project = stampOf(st)
		}
		if err := r.rememberBase(e, p, merged[p.Path]); err != nil {
			return err
		}
		if p.Kind == changes.Renamed {
			was, err := stampAt(r.layer, p.OldPath)
			if err != nil {
				return err
			}
			*r.state.note(p.OldPath) = entry{Path: []byte(p.OldPath), Settled: approved, Layer: was}
		}
	}
	r.state.Approved += len(picks)
	return r.state.save()
}

// rememberBase keeps the content from which both sides go on from here.
func (r *Review) rememberBase(e *entry, p *pick, merged bool) (err error) {
	b := p.put
	if merged {
		b = p.body // the project has it, and more
	}
	if b == nil || !(merged || p.partly) {
		return nil
	}
	data, err := b.Bytes()
	if err != nil {
		return nil //nolint:nilerr // too large to be merged later
	}
	e.Base, err = r.state.saveBase(data, b.Sum)
	return err
}

// createFile makes a file, and its directories, for us alone.
func createFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("a copy is there already: %w", err)
	}
	return f, err
}
