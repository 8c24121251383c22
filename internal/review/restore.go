package review

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/linux/rmtree"
	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Discarded is what became of a discard or reject.
type Discarded struct {
	Paths     []string
	Remaining int
	Status    string
}

// Discard makes files of the workspace what they are in the project; nil means
// all of them, denied and refused ones included. It writes through the
// sandbox's own mount: the layer of a mounted overlay must not be changed behind
// the kernel's back.
func (r *Review) Discard(ctx context.Context, files []string) (*Discarded, error) {
	all, err := r.space.List(ctx, changes.Options{Policy: &changes.Policy{}})
	if err != nil {
		return nil, err
	}
	if all, err = r.state.Unsettled(all, r.layer); err != nil {
		return nil, err
	}
	list, err := r.toDrop(all, files)
	if err != nil {
		return nil, err
	}
	out := &Discarded{Paths: []string{}}
	if len(list) > 0 {
		if out.Paths, err = r.restoreAll(ctx, list); err != nil {
			return nil, err
		}
	}
	if out.Remaining, err = r.remaining(ctx); err != nil {
		return nil, err
	}
	out.Status = r.status(out.Remaining)
	return out, nil
}

func (r *Review) toDrop(all []changes.Change, files []string) ([]changes.Change, error) {
	if files == nil {
		return all, nil
	}
	var out []changes.Change
	found := map[string]bool{}
	for _, c := range all {
		taken := false
		for _, f := range files {
			if c.Path == f || c.OldPath == f || below(c.Path, f) {
				found[f], taken = true, true
			}
		}
		if taken {
			out = append(out, c)
		}
	}
	for _, f := range files {
		if how, err := r.state.settled(f, r.layer); !found[f] && (err != nil || how == "") {
			return nil, sandbox.Errorf(sandbox.NotFound, "no change is pending at %.128q", f).
				WithHint("coop diff --name-only lists them")
		}
	}
	return out, nil
}

func (r *Review) restoreAll(ctx context.Context, list []changes.Change) ([]string, error) {
	mnt, err := r.Mount(ctx)
	if err != nil {
		return nil, err
	}
	defer mnt.Close()
	w := &restorer{Review: r, root: mnt}
	var done []string
	for _, c := range list {
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), r.state.save())
		}
		for _, p := range []string{c.Path, c.OldPath} {
			if p == "" {
				continue
			}
			if err := w.restore(p); err != nil {
				return nil, errors.Join(fmt.Errorf("discard %.128q: %w", p, err), r.state.save())
			}
		}
		done = append(done, c.Path)
		r.state.Dropped++
	}
	return done, r.state.save()
}

// restorer writes into a workspace as its sandbox sees it. Everything there is
// hostile and may change at any moment: it never leaves the mount, and whatever
// it meets can only spoil the workspace itself.
type restorer struct {
	*Review
	root    *os.File
	removed string // a tree that has just gone, with all that was in it
}

// restore makes one path what it is in the project.
func (w *restorer) restore(p string) error {
	if w.removed == "" || !below(p, w.removed) {
		if err := w.restorePath(p); err != nil {
			return err
		}
	}
	st, err := stampAt(w.layer, p)
	if err != nil {
		return err
	}
	*w.state.note(p) = entry{Path: []byte(p), Settled: discarded, Layer: st}
	return nil
}

func (w *restorer) restorePath(p string) error {
	st, err := within.LstatPath(w.project, p)
	if isNothing(err) {
		w.removed = p
		return w.remove(p)
	}
	if err != nil {
		return err
	}
	dir, name, done, err := w.parent(p)
	if err != nil {
		return err
	}
	defer done()
	switch {
	case st.Mode.IsDir():
		return w.restoreDir(dir, name, st)
	case st.Mode&fs.ModeSymlink != 0:
		return w.restoreLink(p, dir, name, st)
	case st.Mode.IsRegular():
		return w.restoreFile(p, dir, name)
	}
	return errors.New("the project has something there that is neither file nor directory nor link")
}

// parent opens the directory of a path in the workspace, making those that were
// removed with it.
func (w *restorer) parent(p string) (*os.File, string, func(), error) {
	dir, name, done, err := within.Parent(w.root, p)
	if !isNothing(err) {
		return dir, name, done, err
	}
	if err := w.restorePath(dirOf(p)); err != nil {
		return nil, "", nil, err
	}
	return within.Parent(w.root, p)
}

// remove removes a path of the workspace with everything in it, however deep.
func (w *restorer) remove(p string) error {
	dir, name, done, err := within.Parent(w.root, p)
	if isNothing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer done()
	return removeTree(dir, name)
}

func removeTree(dir *os.File, name string) error {
	return rmtree.Remove(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name))
}

// own gives an entry to the workspace's owner. In a user namespace it is that
// already.
func (w *restorer) own(dir *os.File, name string) error {
	if !w.RealRoot {
		return nil
	}
	return within.Chown(dir, name, w.OwnerUID, w.OwnerGID)
}

func (w *restorer) restoreDir(dir *os.File, name string, st within.Stat) error {
	now, err := within.Lstat(dir, name)
	if err == nil && !now.Mode.IsDir() {
		err = errors.Join(within.Unlink(dir, name), fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err := within.Mkdir(dir, name, 0o700); err != nil {
			return err
		}
		if err := w.own(dir, name); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	f, err := within.OpenDir(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return within.Chmod(f, st.Mode)
}

func (w *restorer) restoreLink(p string, dir *os.File, name string, st within.Stat) error {
	from, base, done, err := within.Parent(w.project, p)
	if err != nil {
		return err
	}
	defer done()
	target, err := within.Readlink(from, base)
	if err != nil {
		return err
	}
	tmp := tmpPrefix + random()
	if err := within.Symlink(target, dir, tmp); err != nil {
		return err
	}
	if err := w.own(dir, tmp); err != nil {
		return err
	}
	if err := within.SetMTimeOf(dir, tmp, st.MTime); err != nil {
		return err
	}
	return w.place(dir, tmp, name)
}

func (w *restorer) restoreFile(p string, dir *os.File, name string) error {
	f, err := within.OpenRegular(w.project, p)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := within.Fstat(f)
	if err != nil {
		return err
	}
	b, err := w.scratch.Read(f, maxFile)
	if err != nil {
		return err
	}
	return w.write(dir, name, b, st)
}

// write puts content into the workspace under a name, in one step for whoever
// looks inside.
func (w *restorer) write(dir *os.File, name string, b *Body, like within.Stat) (err error) {
	tmp := tmpPrefix + random()
	out, err := within.Create(dir, tmp)
	if err != nil {
		return err
	}
	defer func() {
		out.Close()
		if err != nil {
			_ = within.Unlink(dir, tmp) // at worst the workspace keeps it, as a change to discard
		}
	}()
	if err := b.writeTo(out, func() {}); err != nil {
		return err
	}
	if err := w.own(dir, tmp); err != nil {
		return err
	}
	if err := within.Chmod(out, like.Mode); err != nil {
		return err
	}
	if err := within.SetMTime(out, like.MTime); err != nil {
		return err
	}
	return w.place(dir, tmp, name)
}

// place renames over whatever is there.
func (w *restorer) place(dir *os.File, tmp, name string) error {
	err := within.Replace(dir, tmp, dir, name)
	if err == nil {
		return nil
	}
	if rerr := removeTree(dir, name); rerr != nil { // a directory, normally
		return errors.Join(err, rerr)
	}
	return within.Replace(dir, tmp, dir, name)
}

// CleanPath makes a path of a request one of the workspace, mounted at root.
func CleanPath(p, root string) (string, error) {
	clean := path.Clean(p)
	clean = strings.TrimPrefix(clean, strings.TrimSuffix(root, "/")+"/")
	if p == "" || clean == "." || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsRune(p, 0) {
		return "", sandbox.Errorf(sandbox.Invalid, "path %.128q is not in the workspace", p).
			WithHint("give it relative to the workspace, or below %s", root)
	}
	return clean, nil
}
