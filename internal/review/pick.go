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
// confirmed: naming a file confirms it, naming its directory does not.
func (r *Review) choose(list []changes.Change, c choice) (picks []*pick, left []string, err error) {
	if err := c.check(list, r); err != nil {
		return nil, nil, err
	}
	for _, ch := range list {
		hunks := c.hunksOf(ch)
		named := slices.Contains(c.files, ch.Path) || (ch.OldPath != "" && slices.Contains(c.files, ch.OldPath))
		under := slices.ContainsFunc(c.files, func(f string) bool { return below(ch.Path, f) })
		switch {
		case !named && !under && len(hunks) == 0 && !c.everything():
		case !ch.Pending() && (named || len(hunks) > 0):
			return nil, nil, never(ch)
		case !ch.Pending():
		case len(ch.Flagged) > 0 && !named && len(hunks) == 0 && !c.flagged:
			left = append(left, ch.Path)
		default:
			if named || under || c.everything() {
				hunks = nil // the whole of it
			}
			picks = append(picks, &pick{Change: ch, hunks: hunks})
		}
	}
	return keepParents(list, picks), left, nil
}

func (c choice) hunksOf(ch changes.Change) []HunkRef {
	var out []HunkRef
	for _, h := range c.hunks {
		if h.Path == ch.Path {
			out = append(out, h)
		}
	}
	return out
}

// check refuses names that no change has. One that was approved before is no
// mistake: asking twice is asking once.
func (c choice) check(list []changes.Change, r *Review) error {
	names := slices.Clone(c.files)
	for _, h := range c.hunks {
		names = append(names, h.Path)
	}
	for _, name := range names {
		known := slices.ContainsFunc(list, func(ch changes.Change) bool {
			return ch.Path == name || ch.OldPath == name || below(ch.Path, name)
		})
		if known {
			continue
		}
		if how, err := r.state.settled(name, r.layer); err == nil && how == approved && !slices.Contains(c.hunkPaths(), name) {
			continue
		}
		return sandbox.Errorf(sandbox.NotFound, "no change is pending at %.128q", name).
			WithHint("coop diff --name-only lists them")
	}
	return nil
}

func (c choice) hunkPaths() (out []string) {
	for _, h := range c.hunks {
		out = append(out, h.Path)
	}
	return out
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
