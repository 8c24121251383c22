package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/changes/patch"
	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Conflict is a file that has changed on both sides.
type Conflict struct {
	Path        string
	Reason      string
	Resolution  string // Merges, Refused; after an approve Merged or Overwritten
	Base        string // known, unknown or absent
	ProjectDiff string
	SandboxDiff string
	Saved       string
}

// What can be done, or was done, about a conflict.
const (
	Merges      = "merges"
	Refused     = "refused"
	Merged      = "merged"
	Overwritten = "overwritten"
)

// maxConflictDiff bounds the diffs that go with a conflict.
const maxConflictDiff = 64 << 10

// foreign reports whether somebody else than this sandbox's reviewers has
// changed a file of the project since the sandbox was made. Not what the file
// says of its modification counts, which anybody can set, but when the kernel
// last changed its inode.
func (r *Review) foreign(path string, st within.Stat) bool {
	e := r.state.entries[path]
	if e != nil && e.Held {
		return true
	}
	if st.Mode.IsDir() || !st.CTime.After(r.since()) {
		return false
	}
	return e == nil || !e.Project.equal(stampOf(st))
}

// conflicts judges what was picked. Where a merge is clean, the pick's content
// becomes the merged one.
func (r *Review) conflicts(ctx context.Context, picks []*pick) ([]Conflict, error) {
	var suspects []*pick
	for _, p := range picks {
		if r.suspicious(p) {
			suspects = append(suspects, p)
		}
	}
	known := r.lookup(r.indexPaths(picks, suspects))
	var out []Conflict
	for _, p := range picks {
		_, was := known[p.Path]
		if e := r.state.entries[p.Path]; p.newHere() && ((was && e == nil) || (e != nil && e.Held)) {
			out = append(out, p.deletedThere())
		}
	}
	for _, p := range suspects {
		c, err := r.judge(ctx, p, known)
		if err != nil {
			return nil, err
		}
		if c != nil {
			out = append(out, *c)
		}
	}
	return out, nil
}

// suspicious finds files that changed in the project too.
func (r *Review) suspicious(p *pick) bool {
	switch {
	case p.Kind == changes.ModeOnly:
		return false // its content is the project's of this moment
	case p.Kind == changes.Renamed && p.oldSeen != nil && r.foreign(p.OldPath, *p.oldSeen):
		return true
	}
	return p.seen != nil && r.foreign(p.Path, *p.seen)
}

// indexPaths are what has to be looked up in the index of the beginning: what
// may have changed, and what is new here because it was removed there.
func (r *Review) indexPaths(picks, suspects []*pick) []string {
	var out []string
	for _, p := range suspects {
		out = append(out, p.basePath())
	}
	for _, p := range picks {
		if p.newHere() {
			out = append(out, p.Path)
		}
	}
	return out
}

// newHere is a file the project does not have, or no more.
func (p *pick) newHere() bool {
	return p.seen == nil && p.Kind == changes.Added && p.New.Mode.IsRegular()
}

func (p *pick) basePath() string {
	if p.Kind == changes.Renamed {
		return p.OldPath
	}
	return p.Path
}

func (p *pick) deletedThere() Conflict {
	return Conflict{
		Path: p.Path, Resolution: Refused, Base: "known",
		Reason: "the project has removed it since the sandbox was made, the sandbox has changed it",
	}
}

// judge finds out what is to be done about one file.
func (r *Review) judge(ctx context.Context, p *pick, known map[string]blob) (*Conflict, error) {
	c := &Conflict{Path: p.Path, Resolution: Refused, Base: "unknown", Reason: "it has changed in the project since the sandbox was made"}
	base, ok, err := r.baseOf(ctx, p, known)
	if err != nil {
		return nil, err
	}
	if ok {
		c.Base = "known"
	} else if _, tracked := known[p.basePath()]; !tracked && r.base != nil {
		c.Base = "absent"
	}
	old, err := r.oldContent(p)
	if err != nil { // a link, a directory or a huge file: nothing to merge
		old, ok = nil, false
	}
	p.old = old
	if ok && bytes.Equal(old, base) {
		return nil, nil // touched, but the same
	}
	if r.mergePick(p, c, base, ok) {
		return c, nil
	}
	r.explainConflict(p, c, base, ok)
	return c, nil
}

// mergePick tries the three-way merge.
func (r *Review) mergePick(p *pick, c *Conflict, base []byte, known bool) bool {
	if !known || p.partly || len(p.hunks) > 0 || p.body == nil || p.seen == nil || p.Kind != changes.Modified || p.Binary {
		return false
	}
	ours, err := p.body.Bytes()
	if err != nil || isBinary(base) || isBinary(ours) || isBinary(p.old) {
		return false
	}
	merged, clean := merge(base, ours, p.old)
	if !clean {
		c.Reason = "both sides have changed the same lines"
		return false
	}
	c.Resolution, p.put = Merges, NewBody(merged)
	return true
}

// isBinary is git's rule.
func isBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }

// explainConflict shows what both sides have done.
func (r *Review) explainConflict(p *pick, c *Conflict, base []byte, known bool) {
	var ours []byte
	if p.body != nil {
		ours, _ = p.body.Bytes() // too large to be shown
	}
	if isBinary(ours) || isBinary(p.old) || isBinary(base) {
		return
	}
	if known {
		c.ProjectDiff = diffText(p.basePath(), base, p.old)
		c.SandboxDiff = diffText(p.Path, base, ours)
		return
	}
	c.SandboxDiff = diffText(p.Path, p.old, ours)
}

func diffText(path string, old, new []byte) string {
	f := patch.File{OldPath: path, NewPath: path, OldMode: patch.Regular, NewMode: patch.Regular, Old: old, New: new, Hunks: patch.Diff(old, new)}
	text := f.Append(nil)
	if len(text) > maxConflictDiff {
		return string(text[:maxConflictDiff]) + "\n…\n"
	}
	return string(text)
}

// baseOf finds the content both sides of a file descend from: what we left in
// the project ourselves, or git's blob of when the sandbox was made. A blob is
// an ancestor even of a file that was not clean then: what both sides have had
// in common since is the same in both.
func (r *Review) baseOf(ctx context.Context, p *pick, known map[string]blob) ([]byte, bool, error) {
	if e := r.state.entries[p.basePath()]; e != nil && e.Base != "" {
		data, err := r.state.readBase(e.Base)
		return data, err == nil, err
	}
	b, ok := known[p.basePath()]
	if !ok || b.Mode&0o170000 != 0o100000 {
		return nil, false, nil
	}
	data, err := r.gitOf(r.base.GitDir).run(ctx, nil, "cat-file", "blob", b.Hash)
	if err != nil {
		return nil, false, nonFatal(ctx, err)
	}
	return data, true, nil
}

// nonFatal: a repository that cannot be read means an unknown base; a cancelled
// request is one.
func nonFatal(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return nil
}

// refusal is the error of a request that met conflicts nobody settled.
func refusal(list []Conflict) error {
	var names []string
	for _, c := range list {
		if c.Resolution == Refused {
			names = append(names, fmt.Sprintf("%.128q", c.Path))
		}
	}
	if len(names) == 0 {
		return nil
	}
	shown := strings.Join(names[:min(len(names), 5)], ", ")
	if len(names) > 5 {
		shown += fmt.Sprintf(" and %d more", len(names)-5)
	}
	return sandbox.Errorf(sandbox.Conflict, "changed on both sides: %s", shown).
		WithHint("nothing was applied; coop conflicts shows both sides, coop rebase merges what can be, --force overwrites the project's")
}

// overwrite settles conflicts by force, keeping a copy of what is lost.
func (r *Review) overwrite(list []Conflict, picks []*pick, dir string) error {
	by := map[string]*pick{}
	for _, p := range picks {
		by[p.Path] = p
	}
	for i := range list {
		if list[i].Resolution != Refused {
			continue
		}
		list[i].Resolution = Overwritten
		p := by[list[i].Path]
		if p.seen == nil || !p.seen.Mode.IsRegular() {
			continue
		}
		saved, err := r.saveCopy(p.Path, dir)
		if err != nil {
			return err
		}
		list[i].Saved = saved
	}
	return nil
}

// saveCopy copies a file of the project to dir, which nobody but us uses.
func (r *Review) saveCopy(path, dir string) (string, error) {
	f, err := within.OpenRegular(r.project, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := r.scratch.Read(f, maxFile)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, path)
	return to, writeCopy(to, b)
}

func writeCopy(to string, b *Body) error {
	out, err := createFile(to)
	if err != nil {
		return err
	}
	return errors.Join(b.writeTo(out, func() {}), out.Sync(), out.Close())
}
