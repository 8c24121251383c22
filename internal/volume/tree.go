package volume

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/linux/beneath"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/rmtree"
	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Tree is the files of a named directory, for reading and changing them without
// a sandbox. Sandboxes may be changing them at the same time: no path is resolved
// through a link or out of the directory.
type Tree struct {
	dir   *os.File
	shelf *Shelf
}

// Tree opens a named directory.
func (s *Shelf) Tree(name string) (*Tree, error) {
	dir, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	return &Tree{dir, s}, nil
}

// Close lets go of the directory.
func (t *Tree) Close() error { return t.dir.Close() }

// Entry is one file of a list. Ids are those a sandbox sees.
type Entry struct {
	Path     string // relative to the directory
	Mode     fs.FileMode
	Size     int64
	MTime    time.Time
	UID, GID uint32
	Target   string // of a link
}

// clean makes a path of a request relative; "." is the directory itself.
func clean(p string) (string, error) {
	if p == "" || len(p) > 4095 || strings.ContainsRune(p, 0) || slices.Contains(strings.Split(p, "/"), "..") {
		return "", sandbox.Errorf(sandbox.Invalid, "illegal path %.128q", p).WithHint("a path below the directory, without ..")
	}
	return strings.TrimPrefix(path.Clean("/"+p), "/"), nil
}

// cleanName is clean for what must not be the directory itself.
func cleanName(p string) (string, error) {
	rel, err := clean(p)
	if err == nil && rel == "" {
		err = sandbox.Errorf(sandbox.Invalid, "%.128q is the directory itself", p).WithHint("name something below it")
	}
	return rel, err
}

// Open opens a regular file for reading.
func (t *Tree) Open(p string) (*os.File, error) {
	rel, err := cleanName(p)
	if err != nil {
		return nil, err
	}
	f, info, err := beneath.File(t.dir, rel)
	if errors.Is(err, beneath.ErrNotRegular) {
		return nil, sandbox.Errorf(sandbox.Invalid, "%.128q is not a regular file but %s", p, info.Mode.Type())
	}
	return f, explainFile(p, err)
}

// Write makes or replaces a regular file with what fill writes. Readers see the
// old content or the new one. A file that is there keeps owner and permissions.
func (t *Tree) Write(p string, perm fs.FileMode, fill func(io.Writer) error) (err error) {
	rel, err := cleanName(p)
	if err != nil {
		return err
	}
	parent, name, done, err := within.Parent(t.dir, rel)
	if err != nil {
		return explainFile(p, err)
	}
	defer done()
	owner, err := within.Fstat(parent)
	if err != nil {
		return err
	}
	if st, err := within.Lstat(parent, name); err == nil {
		if !st.Mode.IsRegular() {
			return sandbox.Errorf(sandbox.Invalid, "%.128q is not a regular file but %s", p, st.Mode.Type())
		}
		owner, perm = st, st.Mode.Perm()
	}
	stage := ".coop-" + rand.Text()
	f, err := within.Create(parent, stage)
	if err != nil {
		return explainFile(p, err)
	}
	defer func() {
		if err != nil {
			_ = within.Unlink(parent, stage) // the first error is the one to tell
		}
	}()
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = errors.Join(t.give(parent, stage, owner), within.Chmod(f, perm))
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return explainFile(p, within.Replace(parent, stage, parent, name))
}

// give makes a new file belong to whom its directory, or what it replaces, belongs
// to. In a user namespace it is ours, as what sandboxes make is.
func (t *Tree) give(dir *os.File, name string, like within.Stat) error {
	if !t.shelf.Root {
		return nil
	}
	return within.Chown(dir, name, like.UID, like.GID)
}

// Mkdir makes a directory, and those above it if parents; then one that is there
// is no error.
func (t *Tree) Mkdir(p string, parents bool) error {
	rel, err := cleanName(p)
	if err != nil {
		return err
	}
	at := ""
	names := strings.Split(rel, "/")
	for i, name := range names {
		last := i == len(names)-1
		if last || parents {
			if err := t.mkdir(at, name, parents); err != nil {
				return explainFile(p, err)
			}
		}
		at = path.Join(at, name)
	}
	return nil
}

func (t *Tree) mkdir(at, name string, parents bool) error {
	dir, err := within.OpenDir(t.dir, at)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = within.Mkdir(dir, name, 0o755)
	if errors.Is(err, fs.ErrExist) && parents {
		if st, serr := within.Lstat(dir, name); serr == nil && st.Mode.IsDir() {
			return nil
		}
	}
	if err != nil {
		return err
	}
	like, err := within.Fstat(dir)
	if err != nil {
		return err
	}
	return t.give(dir, name, like)
}

// Rename moves a file or directory to a name that must be free.
func (t *Tree) Rename(from, to string) error {
	a, err := cleanName(from)
	if err != nil {
		return err
	}
	b, err := cleanName(to)
	if err != nil {
		return err
	}
	fromDir, fromName, done, err := within.Parent(t.dir, a)
	if err != nil {
		return explainFile(from, err)
	}
	defer done()
	toDir, toName, done, err := within.Parent(t.dir, b)
	if err != nil {
		return explainFile(to, err)
	}
	defer done()
	if _, err := within.Lstat(fromDir, fromName); err != nil {
		return explainFile(from, err)
	}
	return explainFile(to, within.RenameTo(fromDir, fromName, toDir, toName))
}

// Remove removes a file or an empty directory, or a whole one if recursive: it
// disappears at once, however much is in it.
func (t *Tree) Remove(p string, recursive bool) error {
	rel, err := cleanName(p)
	if err != nil {
		return err
	}
	parent, name, done, err := within.Parent(t.dir, rel)
	if err != nil {
		return explainFile(p, err)
	}
	defer done()
	st, err := within.Lstat(parent, name)
	switch {
	case err != nil:
		return explainFile(p, err)
	case !st.Mode.IsDir():
		return explainFile(p, within.Unlink(parent, name))
	case !recursive:
		return explainFile(p, within.Rmdir(parent, name))
	}
	shelf, err := os.Open(t.shelf.Dir)
	if err != nil {
		return err
	}
	defer shelf.Close()
	gone := ".deleted-" + rand.Text()
	if err := within.RenameTo(parent, name, shelf, gone); err != nil {
		return explainFile(p, err)
	}
	return rmtree.Remove(filepath.Join(t.shelf.Dir, gone))
}

// errEnough ends a list that has become long enough.
var errEnough = errors.New("enough")

// List shows a directory down to depth levels, sorted, at most limit entries;
// more says that there are others.
func (t *Tree) List(ctx context.Context, p string, depth, limit int) (list []Entry, more bool, err error) {
	rel, err := clean(p)
	if err != nil {
		return nil, false, err
	}
	err = t.list(ctx, rel, depth, limit, &list)
	if errors.Is(err, errEnough) {
		return list, true, nil
	}
	return list, false, explainFile(p, err)
}

func (t *Tree) list(ctx context.Context, rel string, depth, limit int, list *[]Entry) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	dir, err := within.OpenDir(t.dir, rel)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := beneath.Names(dir, maxNames)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		st, err := within.Lstat(dir, name)
		if err != nil {
			continue // gone since it was listed
		}
		if len(*list) == limit {
			return errEnough
		}
		*list = append(*list, t.entry(dir, rel, name, st))
		if !st.Mode.IsDir() || depth <= 1 {
			continue
		}
		err = t.list(ctx, path.Join(rel, name), depth-1, limit, list)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.ELOOP) {
			return err // those three: swapped for something else meanwhile
		}
	}
	return nil
}

// maxNames bounds what is read of one directory.
const maxNames = 1 << 20

func (t *Tree) entry(dir *os.File, rel, name string, st within.Stat) Entry {
	e := Entry{Path: path.Join(rel, name), Mode: st.Mode, Size: st.Size, MTime: st.MTime, UID: st.UID, GID: st.GID}
	if t.shelf.Root {
		e.UID, e.GID = inside(st.UID), inside(st.GID)
	}
	if st.Mode&fs.ModeSymlink != 0 {
		e.Target, _ = within.Readlink(dir, name) // gone meanwhile: then it has none
	}
	return e
}

// inside is an id of a file of real root's volumes as sandboxes see it.
func inside(id uint32) uint32 {
	if id < idmap.Volumes || id >= idmap.Volumes+idmap.Range {
		return overflow
	}
	return id - idmap.Volumes
}

func explainFile(p string, err error) error {
	var known *sandbox.Error
	code := sandbox.Invalid
	switch {
	case err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		code = sandbox.NotFound
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EXDEV), errors.Is(err, fs.ErrPermission):
		code = sandbox.Denied
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY):
		code = sandbox.Conflict
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		code = sandbox.Exhausted
	}
	var cause *fs.PathError // names only a part of the path
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return sandbox.Errorf(code, "%.128q: %w", p, err)
}
