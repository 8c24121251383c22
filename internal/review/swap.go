package review

import (
	"os"

	"github.com/coop-dev/coop/internal/linux/within"
)

// swap lets one op take effect. Each is a single rename where the filesystem can
// exchange two names: readers see the old file or the new one, never a part and
// never none.
func (w *work) swap(i int) error {
	o := w.ops[i]
	dir, err := w.dirs.get(o.Dir)
	if err != nil {
		return projectError(err)
	}
	switch {
	case o.Kind == opChmod:
		err = w.swapMode(dir, o)
	case o.Kind == opRemove:
		err = w.setAside(dir, o, i)
	case !o.Had:
		err = within.Rename(dir, o.Tmp, string(o.Name))
		w.step("rename")
	default:
		err = w.exchange(dir, o, i)
	}
	return projectError(err)
}

// exchange puts the staged entry in place of another, and looks whether what it
// got for it is what was expected: nothing somebody wrote meanwhile may be lost.
func (w *work) exchange(dir *os.File, o op, i int) error {
	if !w.twoSteps {
		err := within.Exchange(dir, o.Tmp, string(o.Name))
		w.step("exchange")
		if err == nil {
			return w.verify(dir, o.Tmp, i)
		}
		if !within.Unsupported(err) {
			return err
		}
	}
	if err := w.setAside(dir, o, i); err != nil {
		return err
	}
	err := within.Rename(dir, o.Tmp, string(o.Name))
	w.step("rename")
	return err
}

func (w *work) setAside(dir *os.File, o op, i int) error {
	err := within.Rename(dir, string(o.Name), o.Old)
	w.step("rename")
	if err != nil {
		return err
	}
	return w.verify(dir, o.Old, i)
}

// verify looks at an entry that was taken out of the way.
func (w *work) verify(dir *os.File, name string, i int) error {
	st, err := within.Lstat(dir, name)
	if err != nil {
		return err
	}
	was := *w.plans[i].had
	was.CTime = st.CTime // a rename is a change of the inode too
	if !unchanged(was, st) {
		return changedMeanwhile(w.plans[i].top)
	}
	if st.Mode.IsDir() && w.Keep != nil {
		return w.keepNothing(dir, name, w.plans[i].top, 0)
	}
	return nil
}

func (w *work) swapMode(dir *os.File, o op) error {
	f, err := openForChmod(dir, string(o.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := within.Fstat(f)
	if err != nil {
		return err
	}
	if st.Ino != o.Ino {
		return changedMeanwhile(string(o.Name))
	}
	err = within.Chmod(f, os.FileMode(o.Perm))
	w.step("chmod")
	return err
}

func openForChmod(dir *os.File, name string) (*os.File, error) {
	st, err := within.Lstat(dir, name)
	if err != nil {
		return nil, err
	}
	if st.Mode.IsDir() {
		return within.OpenDir(dir, name)
	}
	return within.OpenRegular(dir, name)
}
