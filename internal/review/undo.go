package review

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/coop-dev/coop/internal/linux/within"
)

// undoer makes a project what it was before a journal was begun. It may be
// interrupted and run again: each step looks at what is there.
type undoer struct {
	*story
	dirs     *dirs
	step     func(string)
	problems []string
}

// run undoes the ops backwards. A problem is something that was left alone
// because somebody else has changed it since; an error means: again later.
func (u *undoer) run() ([]string, error) {
	for i := range slices.Backward(u.Ops) {
		if err := u.undo(i); err != nil {
			return u.problems, fmt.Errorf("undo %q: %w", u.Ops[i].Name, err)
		}
	}
	if err := u.restoreTimes(); err != nil {
		return u.problems, err
	}
	return u.problems, u.dirs.sync()
}

func (u *undoer) undo(i int) error {
	o := u.Ops[i]
	dir, err := u.dirs.get(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		u.problem("directory %q is gone", u.Dirs[o.Dir].Path)
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case u.staged == nil: // nothing was swapped
		return u.drop(dir, o.Tmp)
	case o.Kind == opChmod:
		return u.undoMode(dir, o)
	case o.Kind == opRemove:
		return u.bringBack(dir, o)
	}
	return u.undoPut(dir, o, u.staged.Inos[i])
}

func (u *undoer) problem(format string, args ...any) {
	u.problems = append(u.problems, fmt.Sprintf(format, args...))
}

// drop removes a staged entry.
func (u *undoer) drop(dir *os.File, name string) error {
	if name == "" {
		return nil
	}
	return within.RemoveAll(dir, name, func() { u.step("undo: remove") })
}

// inode is 0 when nothing has the name.
func inode(dir *os.File, name string) (uint64, error) {
	st, err := within.Lstat(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return st.Ino, err
}

// undoPut finds out by inodes how far the swap of an entry came.
//
//	Name    Tmp     Old     means
//	old     new     -       not swapped
//	new     old     -       exchanged
//	-       new     old     set aside, in two steps
//	new     -       old     put, in two steps
//	new     -       -       put where nothing was
//	other   old     -       exchanged, and replaced by somebody since
func (u *undoer) undoPut(dir *os.File, o op, ino uint64) error {
	name := string(o.Name)
	at, err := inode(dir, name)
	if err != nil {
		return err
	}
	tmp, err := inode(dir, o.Tmp)
	if err != nil {
		return err
	}
	if tmp != 0 && tmp != ino {
		return u.exchangeBack(dir, o, at, ino)
	}
	old := uint64(0)
	if o.Had {
		if old, err = inode(dir, o.Old); err != nil {
			return err
		}
	}
	if at == ino && (!o.Had || old != 0) { // put by a rename
		if err := u.drop(dir, name); err != nil {
			return err
		}
	}
	if err := u.drop(dir, o.Tmp); err != nil {
		return err
	}
	return u.bringBack(dir, o)
}

// exchangeBack brings back the entry that waits under the temporary name: the
// one that was expected, or one that somebody put there at the last moment.
func (u *undoer) exchangeBack(dir *os.File, o op, at, ino uint64) error {
	switch at {
	case ino:
		if err := within.Exchange(dir, o.Tmp, string(o.Name)); err != nil {
			return err
		}
		u.step("undo: exchange")
		return u.drop(dir, o.Tmp)
	case 0:
		err := within.Rename(dir, o.Tmp, string(o.Name))
		u.step("undo: rename")
		return err
	}
	u.problem("%q was changed by somebody else; what it was before is kept as %q", o.Name, o.Tmp)
	return nil
}

// bringBack renames what was set aside to its old name.
func (u *undoer) bringBack(dir *os.File, o op) error {
	if o.Old == "" {
		return nil
	}
	old, err := inode(dir, o.Old)
	if err != nil || old == 0 {
		return err
	}
	err = within.Rename(dir, o.Old, string(o.Name))
	if errors.Is(err, fs.ErrExist) {
		u.problem("%q was made anew by somebody else; what it was before is kept as %q", o.Name, o.Old)
		return nil
	}
	u.step("undo: rename")
	return err
}

func (u *undoer) undoMode(dir *os.File, o op) error {
	f, err := openForChmod(dir, string(o.Name))
	if errors.Is(err, fs.ErrNotExist) {
		u.problem("%q is gone", o.Name)
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := within.Fstat(f)
	if err != nil || st.Ino != o.Ino || uint32(st.Mode.Perm()) != o.Perm {
		return err
	}
	err = within.Chmod(f, fs.FileMode(o.Was))
	u.step("undo: chmod")
	return err
}

// restoreTimes makes the directories look untouched: nothing in them is another
// than before.
func (u *undoer) restoreTimes() error {
	touched := map[int]bool{}
	for _, o := range u.Ops {
		if o.Kind != opChmod {
			touched[o.Dir] = true
		}
	}
	for i := range touched {
		dir, err := u.dirs.get(i)
		if err != nil {
			continue // it was told above
		}
		if st, err := within.Fstat(dir); err != nil || st.MTime.Equal(u.Dirs[i].MTime) {
			continue // untouched: a read-only filesystem, for instance
		}
		if err := within.SetMTime(dir, u.Dirs[i].MTime); err != nil {
			return err
		}
		u.step("undo: utimens")
	}
	return nil
}
