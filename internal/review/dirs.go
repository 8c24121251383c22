package review

import (
	"fmt"
	"os"

	"github.com/coop-dev/coop/internal/linux/within"
)

// openDirs bounds how many directories of the project are open at once.
const openDirs = 256

// dirs opens the directories of a project that entries change in. A directory
// that is opened again must still be the one that was seen first: whoever moves
// directories about while a request is applied gets an error.
type dirs struct {
	root  *os.File
	notes []dirNote
	index map[string]int
	open  map[int]*os.File
}

func newDirs(root *os.File) *dirs {
	return &dirs{root: root, index: map[string]int{}, open: map[int]*os.File{}}
}

// note opens a directory for the first time and gives its number.
func (d *dirs) note(path string) (int, error) {
	if i, ok := d.index[path]; ok {
		return i, nil
	}
	f, err := within.OpenDir(d.root, path)
	if err != nil {
		return 0, err
	}
	st, err := within.Fstat(f)
	if err != nil {
		f.Close()
		return 0, err
	}
	i := len(d.notes)
	d.index[path] = i
	d.notes = append(d.notes, dirNote{Path: []byte(path), Dev: st.Dev, Ino: st.Ino, MTime: st.MTime})
	d.keep(i, f)
	return i, nil
}

func (d *dirs) keep(i int, f *os.File) {
	if len(d.open) >= openDirs {
		for j, old := range d.open { // any one: they come in order, so it is mostly a finished one
			old.Close()
			delete(d.open, j)
			break
		}
	}
	d.open[i] = f
}

// get opens a noted directory.
func (d *dirs) get(i int) (*os.File, error) {
	if f := d.open[i]; f != nil {
		return f, nil
	}
	f, err := d.openAgain(i)
	if err != nil {
		return nil, err
	}
	if d.notes[i].Dev == 0 {
		st, err := within.Fstat(f)
		if err != nil {
			f.Close()
			return nil, err
		}
		d.notes[i].Dev = st.Dev
	}
	d.keep(i, f)
	return f, nil
}

// openAgain opens a noted directory for the caller alone, who closes it. It may
// be called by several at once.
func (d *dirs) openAgain(i int) (*os.File, error) {
	n := d.notes[i]
	f, err := within.OpenDir(d.root, string(n.Path))
	if err != nil {
		return nil, err
	}
	st, err := within.Fstat(f)
	if err == nil && (st.Ino != n.Ino || (n.Dev != 0 && st.Dev != n.Dev)) {
		err = fmt.Errorf("directory %q is another one than before", n.Path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (d *dirs) close() {
	for i, f := range d.open {
		f.Close()
		delete(d.open, i)
	}
}

// syncFew is up to how many files are synced one by one. Beyond it writing out
// the whole filesystem once is cheaper than a commit of its journal for each.
const syncFew = 16

// sync makes changes of names in all noted directories durable.
func (d *dirs) sync() error {
	if len(d.notes) > syncFew {
		return d.syncFilesystems()
	}
	for i := range d.notes {
		f, err := d.get(i)
		if err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return nil
}

// syncFilesystems writes out every filesystem that one of the directories is on.
func (d *dirs) syncFilesystems() error {
	done := map[uint64]bool{}
	for i := range d.notes {
		if done[d.notes[i].Dev] {
			continue
		}
		f, err := d.get(i)
		if err != nil {
			return err
		}
		done[d.notes[i].Dev] = true
		if err := within.SyncFilesystem(f); err != nil {
			return err
		}
	}
	return nil
}
