package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/coop-dev/coop/internal/linux/within"
)

// tmpPrefix begins every temporary name in a project.
const tmpPrefix = ".coop-"

// Applier applies edits to one project.
type Applier struct {
	Project *os.File        // opened
	Path    string          // where it is, for a recovery
	Journal string          // file that must not be there yet
	Note    json.RawMessage // given back by a recovery
	Force   bool            // replace read-only and hard-linked files too
	Chown   bool            // new files belong to the owner of their directory: real root

	// Keep says why an entry of a directory that is to be removed must stay; it
	// sees everything in the directory. Nil keeps nothing.
	Keep func(path string, st within.Stat) string

	// step is called after everything that touches the project or the journal;
	// tests end the process there. With many edits it is called by several at once.
	step func(what string)
	// twoSteps does without exchanging names, as some filesystems have to.
	twoSteps bool
}

// Applied is a request that is in the project. The journal stays until Forget:
// what has to be remembered elsewhere can be written in between, and if that is
// interrupted, recovery gives the note back.
type Applied struct {
	Now     map[string]within.Stat // what is at each put path now
	journal string
	late    error
}

// Forget ends the story, unless something is still to be cleaned up: then the
// next recovery does that.
func (a *Applied) Forget() error {
	if a.late != nil {
		return a.late
	}
	return forget(a.journal)
}

// work is one run of an Applier.
type work struct {
	*Applier
	dirs  *dirs
	ops   []op
	plans []plan // one for each op
	inos  []uint64
}

// Apply does all of the edits or none.
func (a *Applier) Apply(ctx context.Context, edits []Edit) (*Applied, error) {
	if a.step == nil {
		a.step = func(string) {}
	}
	w := &work{Applier: a, dirs: newDirs(a.Project)}
	defer w.dirs.close()
	if err := w.compile(edits); err != nil {
		return nil, err
	}
	j, err := createJournal(a.Journal)
	if err != nil {
		return nil, err
	}
	defer j.close()
	a.step("create journal")
	if err := w.run(ctx, j); err != nil {
		if err := w.rollBack(err); err != nil {
			return nil, err
		}
	}
	return w.finish(), nil
}

// run goes up to the point of no return.
func (w *work) run(ctx context.Context, j *journal) error {
	if err := w.begin(j); err != nil {
		return err
	}
	if err := w.stageAll(ctx); err != nil {
		return err
	}
	if err := w.syncStaged(); err != nil {
		return err
	}
	if err := j.append(wordStaged, staged{w.inos}); err != nil {
		return err
	}
	w.step("journal staged")
	for i := range w.ops {
		if err := w.swap(i); err != nil {
			return err
		}
	}
	if err := w.dirs.sync(); err != nil {
		return err
	}
	if err := j.append(wordDone, struct{}{}); err != nil {
		return err
	}
	w.step("journal done")
	return nil
}

func (w *work) begin(j *journal) error {
	st, err := within.Fstat(w.Project)
	if err != nil {
		return err
	}
	b := begun{Project: w.Path, Ino: st.Ino, Dirs: w.dirs.notes, Ops: w.ops, Note: w.Note}
	if err := j.append(wordBegin, b); err != nil {
		return err
	}
	w.step("journal begin")
	return nil
}

// rollBack undoes what was done so far, by way of the journal, as a recovery
// would after a crash. What cannot be undone now stays for the next recovery.
// It is nil when the journal says that everything is done: then so it is, and
// writing that line down was all that had failed.
func (w *work) rollBack(cause error) error {
	s, err := readJournal(w.Journal)
	if err == nil && s != nil && s.done {
		return nil
	}
	if err == nil && s != nil {
		_, err = w.undo(s)
	}
	if err != nil {
		return fmt.Errorf("%w (and the project could not be restored yet: %w)", cause, err)
	}
	if err := forget(w.Journal); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

func (w *work) undo(s *story) (problems []string, err error) {
	u := &undoer{story: s, dirs: w.dirs, step: w.step}
	return u.run()
}

// finish removes what was replaced. From here on nothing is undone: an error
// leaves the journal to the next recovery, which goes on from the same place.
func (w *work) finish() *Applied {
	out := &Applied{Now: map[string]within.Stat{}, journal: w.Journal}
	for i, p := range w.plans {
		if w.ops[i].Kind != opRemove {
			w.look(i, p, out.Now)
		}
	}
	c := &cleaner{dirs: w.dirs, step: w.step}
	out.late = c.run(w.ops)
	return out
}

// look notes what is at the paths of an op now.
func (w *work) look(i int, p plan, now map[string]within.Stat) {
	for _, e := range p.edits {
		var st within.Stat
		dir, err := w.dirs.get(w.ops[i].Dir)
		if err == nil && !p.tree {
			st, err = within.Lstat(dir, string(w.ops[i].Name))
		} else {
			st, err = within.LstatPath(w.Project, e.Path)
		}
		if err == nil { // otherwise somebody has moved it already
			now[e.Path] = st
		}
	}
}
