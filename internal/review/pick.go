package review

import (
	"slices"
	"strings"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// HunkRef names a hunk of a file's diff as it is now.
type HunkRef struct {
	Path  string
	Index int
	ID    string // when given, the hunk is the one with this id, wherever it is now
	Parts []int  // some runs of its changed lines only; none means all
}

// pick is a change that was chosen, with everything that was read of it.
type pick struct {
	changes.Change
	hunks   []HunkRef // some of it only
	layer   stamp
	seen    *within.Stat // the project's side
	oldSeen *within.Stat // Renamed: where it was
	body    *Body        // the workspace's content, read once
	put     *Body        // what will be applied: body, or parts of it, or a merge
	partly  bool         // something of it stays pending
	old     []byte       // the project's content, where it was needed
}

// choice is what a request asks for.
type choice struct {
	files   []string
	hunks   []HunkRef
	flagged bool
}

func (c choice) everything() bool { return len(c.files) == 0 && len(c.hunks) == 0 }

// choose finds the changes a request is about. left are flagged ones that nobody
// confirmed: naming a file confirms it, naming its directory does not. notes tell
// of what "everything" cannot include.
func (r *Review) choose(list []changes.Change, c choice) (picks []*pick, left, notes []string, err error) {
	if err := c.check(list, r); err != nil {
		return nil, nil, nil, err
	}
	files, hunks := c.named(), c.hunksByPath()
	for _, ch := range list {
		named := files[ch.Path] || (ch.OldPath != "" && files[ch.OldPath])
		parts := hunks[ch.Path]
		if !named && len(parts) == 0 && !c.everything() && !underAny(ch.Path, files) {
			continue
		}
		explicit := named || len(parts) > 0
		impossible := checkPath(ch.Path)
		switch {
		case !ch.Pending() && explicit:
			return nil, nil, nil, never(ch)
		case !ch.Pending():
		case impossible != nil && explicit:
			return nil, nil, nil, impossible
		case impossible != nil:
			notes = append(notes, "left out: "+impossible.Error())
		case len(ch.Flagged) > 0 && !explicit && !c.flagged:
			left = append(left, ch.Path)
		default:
			if named || len(parts) == 0 {
				parts = nil // the whole of it
			}
			picks = append(picks, &pick{Change: ch, hunks: parts})
		}
	}
	return keepParents(list, picks), left, notes, nil
}

func (c choice) named() map[string]bool {
	out := map[string]bool{}
	for _, f := range c.files {
		out[f] = true
	}
	return out
}

func (c choice) hunksByPath() map[string][]HunkRef {
	out := map[string][]HunkRef{}
	for _, h := range c.hunks {
		out[h.Path] = append(out[h.Path], h)
	}
	return out
}

// underAny reports whether one of the directories a path lies in was named.
func underAny(p string, dirs map[string]bool) bool {
	for dir := dirOf(p); dir != ""; dir = dirOf(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// check refuses names that no change has. One that was approved before is no
// mistake: asking twice is asking once.
func (c choice) check(list []changes.Change, r *Review) error {
	known := places(list)
	for _, name := range c.files {
		if known[name] {
			continue
		}
		if how, err := r.state.settled(name, r.layer); err == nil && how == approved {
			continue
		}
		return nothingAt(name)
	}
	for _, h := range c.hunks {
		if !known[h.Path] {
			return nothingAt(h.Path)
		}
	}
	return nil
}

// places are all paths of changes and the directories they lie in.
func places(list []changes.Change) map[string]bool {
	out := map[string]bool{}
	for _, c := range list {
		for _, p := range []string{c.Path, c.OldPath} {
			for ; p != "" && !out[p]; p = dirOf(p) {
				out[p] = true
			}
		}
	}
	return out
}

func nothingAt(name string) error {
	return sandbox.Errorf(sandbox.NotFound, "no change is pending at %.128q", name).
		WithHint("coop diff --name-only lists them")
}

func never(c changes.Change) error {
	if c.Denied != "" {
		err := sandbox.Errorf(sandbox.Denied, "%.128q is denied by the rule %.128q", c.Path, c.Denied)
		if strings.HasPrefix(c.Denied, ".git") {
			return err.WithHint("take over commits with coop approve --commits")
		}
		return err.WithHint("the rules are fixed when a sandbox is made: [review] in coop.toml")
	}
	return sandbox.Errorf(sandbox.Denied, "%.128q cannot be applied: %s", c.Path, c.Refused)
}

// keepParents leaves out the removal of a directory when not everything in it
// was chosen to go: the rest of it would go unseen.
func keepParents(list []changes.Change, picks []*pick) []*pick {
	chosen := map[string]bool{}
	for _, p := range picks {
		chosen[p.Path] = true
	}
	keep := map[string]bool{}
	for _, c := range list {
		was := c.Path
		switch {
		case chosen[c.Path] || c.Kind == changes.Added:
			continue
		case c.Kind == changes.Renamed:
			was = c.OldPath
		}
		for dir := dirOf(was); dir != ""; dir = dirOf(dir) {
			keep[dir] = true
		}
	}
	return slices.DeleteFunc(picks, func(p *pick) bool {
		return p.Kind == changes.Deleted && p.Old.Mode.IsDir() && keep[p.Path]
	})
}
