package review

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/changes/patch"
	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// read takes everything a chosen change rests on: first the stamp, then the
// content. Whatever the sandbox writes after that is another change.
func (r *Review) read(p *pick) (err error) {
	if p.layer, err = stampAt(r.layer, p.Path); err != nil {
		return err
	}
	if p.seen, err = r.look(p.Path); err != nil {
		return err
	}
	if p.Kind == changes.Renamed {
		if p.oldSeen, err = r.look(p.OldPath); err != nil {
			return err
		}
	}
	if !p.New.Exists || !p.New.Mode.IsRegular() || p.Kind == changes.ModeOnly {
		return r.onlyWhole(p)
	}
	f, err := r.space.OpenNew(p.Change)
	if err != nil {
		return gone(p.Path, err)
	}
	defer f.Close()
	if err := harmless(f, p.Path); err != nil {
		return err
	}
	limit := r.Policy.MaxFileBytes
	if limit == 0 {
		limit = maxFile
	}
	if p.body, err = r.scratch.Read(f, limit); err != nil {
		return err
	}
	p.put = p.body
	if len(p.hunks) > 0 {
		return r.cut(p)
	}
	return nil
}

func (r *Review) look(path string) (*within.Stat, error) {
	st, err := within.LstatPath(r.project, path)
	if isNothing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, projectError(err)
	}
	return &st, nil
}

func (r *Review) onlyWhole(p *pick) error {
	for _, h := range p.hunks {
		if h.Index != 0 || p.Kind != changes.Deleted {
			return noHunk(h)
		}
	}
	p.hunks = nil
	return nil
}

func gone(path string, err error) error {
	return sandbox.Errorf(sandbox.Conflict, "%.128q was changed in the sandbox meanwhile: %w", path, err).
		WithHint("look at the diff again")
}

// harmless looks at the open file itself: since the list was made it may have
// become another.
func harmless(f *os.File, path string) error {
	st, err := within.Fstat(f)
	switch {
	case err != nil:
		return err
	case !st.Mode.IsRegular():
		return sandbox.Errorf(sandbox.Denied, "%.128q is not a regular file any more", path)
	case st.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return sandbox.Errorf(sandbox.Denied, "%.128q has a setuid or setgid bit", path)
	case within.HasXattr(f, "security.capability"):
		return sandbox.Errorf(sandbox.Denied, "%.128q has file capabilities", path)
	}
	return nil
}

// cut makes the content that the chosen hunks alone give.
func (r *Review) cut(p *pick) error {
	fresh, err := p.body.Bytes()
	if err != nil || p.Binary || p.Large {
		return sandbox.Errorf(sandbox.Invalid, "%.128q has no hunks: it is binary or too large", p.Path).
			WithHint("approve the whole file")
	}
	if p.old, err = r.oldContent(p); err != nil {
		return err
	}
	hunks := patch.Diff(p.old, fresh)
	chosen := map[[2]int]bool{} // hunk and part
	for _, ref := range p.hunks {
		if err := choosePart(chosen, hunks, ref); err != nil {
			return err
		}
	}
	var taken []span
	total := 0
	for i, h := range hunks {
		for j, s := range hunkSpans(h) {
			total++
			if chosen[[2]int{i, j}] {
				taken = append(taken, s)
			}
		}
	}
	if len(taken) == total {
		p.hunks = nil // all of them: the whole file, permissions included
		return nil
	}
	lines := splitLines(string(p.old))
	p.put = NewBody([]byte(strings.Join(rewrite(lines, 0, len(lines), taken), "")))
	p.partly = true
	return nil
}

// choosePart marks a hunk, or the parts of it that were asked for.
func choosePart(chosen map[[2]int]bool, hunks []patch.Hunk, ref HunkRef) error {
	i, err := find(hunks, ref)
	if err != nil {
		return err
	}
	parts := len(hunkSpans(hunks[i]))
	for _, j := range ref.Parts {
		if j < 0 || j >= parts {
			return sandbox.Errorf(sandbox.NotFound, "hunk %d of %.128q has no part %d", ref.Index, ref.Path, j)
		}
		chosen[[2]int{i, j}] = true
	}
	if len(ref.Parts) > 0 {
		return nil
	}
	for j := range parts {
		chosen[[2]int{i, j}] = true
	}
	return nil
}

// oldContent reads the project's side of a file, and notes what was read.
func (r *Review) oldContent(p *pick) ([]byte, error) {
	path := p.Path
	if p.Kind == changes.Renamed {
		path = p.OldPath
	}
	if p.seen == nil && p.Kind != changes.Renamed {
		return nil, nil
	}
	f, err := within.OpenRegular(r.project, path)
	if err != nil {
		return nil, changedMeanwhile(path)
	}
	defer f.Close()
	b, err := r.scratch.Read(f, inMemory)
	if err != nil {
		return nil, err
	}
	st, err := within.Fstat(f)
	if err == nil && path == p.Path {
		p.seen = &st
	}
	if err != nil {
		return nil, err
	}
	return b.Bytes()
}

// find looks a hunk up: by its id wherever it is now, otherwise by its index.
func find(hunks []patch.Hunk, ref HunkRef) (int, error) {
	if ref.ID == "" {
		if ref.Index < 0 || ref.Index >= len(hunks) {
			return 0, noHunk(ref)
		}
		return ref.Index, nil
	}
	found := -1
	for i, h := range hunks {
		if h.ID() != ref.ID {
			continue
		}
		if i == ref.Index {
			return i, nil
		}
		if found >= 0 {
			return 0, sandbox.Errorf(sandbox.Conflict, "several hunks of %.128q are the same now", ref.Path).
				WithHint("look at the diff again")
		}
		found = i
	}
	if found < 0 {
		return 0, sandbox.Errorf(sandbox.Conflict, "hunk %d of %.128q is another one by now", ref.Index, ref.Path).
			WithHint("look at the diff again")
	}
	return found, nil
}

func noHunk(ref HunkRef) error {
	return sandbox.Errorf(sandbox.NotFound, "%.128q has no hunk %d", ref.Path, ref.Index).
		WithHint("look at the diff again: hunks are counted from 0")
}

// edits turns a chosen change into what is done to the project.
func (p *pick) edits() ([]Edit, error) {
	e := Edit{Path: p.Path, Seen: p.seen, Perm: p.New.Mode.Perm()}
	switch {
	case !p.New.Exists:
		e.Action = Remove
	case p.Kind == changes.ModeOnly:
		e.Action = Chmod
	case p.New.Mode.IsDir():
		e.Action = MakeDir
	case p.New.Mode&fs.ModeSymlink != 0:
		e.Action, e.Target = PutLink, p.New.Link
	case p.New.Mode.IsRegular():
		e.Action, e.Body, e.Exec = PutFile, p.put, p.exec()
	default:
		return nil, fmt.Errorf("%q is a %s", p.Path, p.New.Mode.Type())
	}
	if e.Action == MakeDir && p.seen != nil && p.seen.Mode.IsDir() {
		return nil, nil
	}
	if p.Kind != changes.Renamed {
		return []Edit{e}, nil
	}
	if p.Old.Mode.IsRegular() {
		e.From = p.OldPath
	}
	return []Edit{e, {Path: p.OldPath, Action: Remove, Seen: p.oldSeen}}, nil
}

// exec is the change of the execute bit that goes with content. A part of a file
// leaves it pending.
func (p *pick) exec() *bool {
	was, is := p.Old.Mode&0o100 != 0, p.New.Mode&0o100 != 0
	if p.partly || !p.Old.Exists || !p.Old.Mode.IsRegular() || was == is {
		return nil
	}
	return &is
}
