package review

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// stageAll makes what will be put, under temporary names beside their places: on
// the same filesystem, so that a rename is all that is left to do.
func (w *work) stageAll(ctx context.Context) error {
	var puts []int
	for i, o := range w.ops {
		if o.Kind == opPut {
			puts = append(puts, i)
		}
	}
	return inDirs(puts, func(i int) int { return w.ops[i].Dir }, func(list []int) error {
		dir, err := w.dirs.openAgain(w.ops[list[0]].Dir)
		if err != nil {
			return projectError(err)
		}
		defer dir.Close()
		for _, i := range list {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := w.stage(dir, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *work) stage(dir *os.File, i int) (err error) {
	o, p := w.ops[i], w.plans[i]
	if p.tree {
		err = w.stageTree(dir, o.Tmp, p)
	} else {
		err = w.stageOne(dir, o.Tmp, p.edits[0], p)
	}
	if err != nil {
		return projectError(err)
	}
	st, err := within.Lstat(dir, o.Tmp)
	w.inos[i] = st.Ino
	return err
}

// stageTree makes a directory with everything in it.
func (w *work) stageTree(dir *os.File, tmp string, p plan) error {
	perms := map[string]fs.FileMode{}
	for _, e := range p.edits {
		if e.Action == MakeDir {
			perms[e.Path] = e.Perm
		}
	}
	t := &tree{work: w, dir: dir, tmp: tmp, plan: p, perms: perms, made: map[string]bool{}}
	if err := t.mkdir(p.top); err != nil {
		return err
	}
	for _, e := range p.edits {
		if err := t.edit(e); err != nil {
			return err
		}
	}
	return nil
}

// tree is a new directory that is being staged.
type tree struct {
	*work
	dir   *os.File
	tmp   string
	plan  plan
	perms map[string]fs.FileMode
	made  map[string]bool
}

// at is where a path of the tree lies while it is staged.
func (t *tree) at(p string) string { return t.tmp + strings.TrimPrefix(p, t.plan.top) }

func (t *tree) edit(e Edit) error {
	if e.Action == Remove {
		return nil // there is nothing in a new directory
	}
	if e.Action == MakeDir {
		return t.mkdir(e.Path)
	}
	if err := t.mkdir(dirOf(e.Path)); err != nil {
		return err
	}
	parent, name, done, err := within.Parent(t.dir, t.at(e.Path))
	if err != nil {
		return err
	}
	defer done()
	return t.stageOne(parent, name, e, t.plan)
}

// mkdir makes a directory and those above it up to the top.
func (t *tree) mkdir(p string) error {
	if t.made[p] {
		return nil
	}
	if p != t.plan.top {
		if err := t.mkdir(dirOf(p)); err != nil {
			return err
		}
	}
	perm, ok := t.perms[p]
	if !ok {
		perm = 0o755
	}
	parent, name, done, err := within.Parent(t.dir, t.at(p))
	if err != nil {
		return err
	}
	defer done()
	if err := within.Mkdir(parent, name, 0o700); err != nil {
		return err
	}
	t.step("mkdir")
	t.made[p] = true
	return t.finishDir(parent, name, newPerm(perm)|0o700)
}

func (t *tree) finishDir(parent *os.File, name string, perm fs.FileMode) error {
	if err := t.giveNew(parent, name, t.plan); err != nil {
		return err
	}
	if perm == 0o700 {
		return nil
	}
	d, err := within.OpenDir(parent, name)
	if err != nil {
		return err
	}
	defer d.Close()
	err = within.Chmod(d, perm)
	t.step("chmod")
	return err
}

// newPerm is what a new file may: what it may in the sandbox, without letting
// others write, as git and the usual umask have it.
func newPerm(perm fs.FileMode) fs.FileMode { return perm.Perm()&^0o022 | 0o600 }

// giveNew gives a new entry to whom its directory belongs to.
func (w *work) giveNew(dir *os.File, name string, p plan) error {
	if !w.Chown {
		return nil // it is the user's own already
	}
	err := within.Chown(dir, name, p.owner.UID, p.owner.GID)
	w.step("chown")
	return err
}

func (w *work) stageOne(dir *os.File, tmp string, e Edit, p plan) error {
	if e.Action == PutLink {
		err := within.Symlink(e.Target, dir, tmp)
		w.step("symlink")
		if err != nil {
			return err
		}
		return w.giveLike(dir, tmp, p)
	}
	if e.Action != PutFile {
		return fmt.Errorf("%q cannot be staged", e.Path)
	}
	f, err := within.Create(dir, tmp)
	if err != nil {
		return err
	}
	defer f.Close()
	w.step("create")
	if err := e.Body.writeTo(f, func() { w.step("write") }); err != nil {
		return err
	}
	if err := w.like(dir, f, tmp, e, p); err != nil {
		return err
	}
	if len(w.ops) <= syncFew && !p.tree {
		return f.Sync()
	}
	return nil
}

// giveLike gives a link to whom the link it replaces belonged to.
func (w *work) giveLike(dir *os.File, tmp string, p plan) error {
	if p.had == nil || p.had.Mode.Type() != fs.ModeSymlink {
		return w.giveNew(dir, tmp, p)
	}
	return w.give(dir, tmp, *p.had)
}

// like makes a staged file resemble the one it takes the place of: owner,
// permissions and attributes.
func (w *work) like(dir, f *os.File, tmp string, e Edit, p plan) error {
	model, modelDir, done, err := w.model(dir, e, p)
	if err != nil {
		return err
	}
	defer done()
	if model == nil {
		if err := w.giveNew(dir, tmp, p); err != nil {
			return err
		}
		if perm := newPerm(e.Perm); perm != 0o600 {
			err = within.Chmod(f, perm)
			w.step("chmod")
		}
		return err
	}
	if err := w.give(dir, tmp, *model); err != nil {
		return err
	}
	if err := w.copyXattrs(modelDir, path.Base(w.modelPath(e, p)), f); err != nil {
		return err
	}
	err = within.Chmod(f, executable(model.Mode.Perm(), e.Exec))
	w.step("chmod")
	return err
}

func (w *work) modelPath(e Edit, p plan) string {
	if p.had != nil && p.had.Mode.IsRegular() && !p.tree {
		return e.Path
	}
	return e.From
}

// model is the file whose owner and permissions a staged one gets: the one it
// replaces, or the one it was renamed from; nil for a new file.
func (w *work) model(dir *os.File, e Edit, p plan) (*within.Stat, *os.File, func(), error) {
	from := w.modelPath(e, p)
	switch {
	case from == "":
		return nil, nil, func() {}, nil
	case from == e.Path:
		return p.had, dir, func() {}, nil
	}
	d, name, done, err := within.Parent(w.Project, from)
	if err != nil {
		return nil, nil, func() {}, err
	}
	st, err := within.Lstat(d, name)
	if err != nil || !st.Mode.IsRegular() {
		done()
		return nil, nil, func() {}, changedMeanwhile(from)
	}
	return &st, d, done, nil
}

// give keeps an owner. Whoever may not give files away can still replace their
// own.
func (w *work) give(dir *os.File, tmp string, model within.Stat) error {
	st, err := within.Lstat(dir, tmp)
	if err != nil || (st.UID == model.UID && st.GID == model.GID) {
		return err
	}
	err = within.Chown(dir, tmp, model.UID, model.GID)
	w.step("chown")
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) {
		return sandbox.Errorf(sandbox.Denied, "the file belongs to another user or group, which could not be kept").
			WithHint("ask its owner, or take it over with chown")
	}
	return err
}

func (w *work) copyXattrs(dir *os.File, name string, to *os.File) error {
	f, err := within.OpenRegular(dir, name)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a file that even its owner cannot read has no attributes to read
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return within.CopyXattrs(f, to)
}

// executable turns execution on for whoever may read, or off for everybody, as
// git does.
func executable(perm fs.FileMode, exec *bool) fs.FileMode {
	switch {
	case exec == nil:
		return perm
	case *exec:
		return perm | perm&0o444>>2
	}
	return perm &^ 0o111
}

// syncStaged makes what is staged durable, before the journal says it is there.
func (w *work) syncStaged() error {
	files, trees := 0, false
	for _, p := range w.plans {
		files += len(p.edits)
		trees = trees || p.tree
	}
	if files > syncFew || trees {
		return projectError(w.dirs.syncFilesystems())
	}
	return projectError(w.dirs.sync())
}

// projectError gives errors of the project's filesystem their words.
func projectError(err error) error {
	var known *sandbox.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return sandbox.Errorf(sandbox.Unavailable, "the project's disk is full: %w", err).
			WithHint("nothing was applied; free some space and try again")
	case errors.Is(err, syscall.EROFS):
		return sandbox.Errorf(sandbox.Denied, "the project is on a read-only filesystem: %w", err)
	case errors.Is(err, fs.ErrPermission):
		return sandbox.Errorf(sandbox.Denied, "the project cannot be written: %w", err).
			WithHint("nothing was applied")
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EXDEV):
		return sandbox.Errorf(sandbox.Denied, "a link in the project was not followed: %w", err).
			WithHint("nothing was applied")
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return sandbox.Errorf(sandbox.Conflict, "the project was changed meanwhile: %w", err).
			WithHint("nothing was applied; look at the diff again")
	}
	return err
}
