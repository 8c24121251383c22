package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/within"
)

// Recovery is what became of an interrupted request.
type Recovery struct {
	Completed bool // otherwise the project is what it was before
	Project   string
	Note      json.RawMessage
	Problems  []string // what was left alone, because somebody had changed it
	journal   string
}

// Forget ends the story.
func (r *Recovery) Forget() error { return forget(r.journal) }

// Recover ends the request whose journal this is, one way or the other; nil
// when it had not begun. The journal stays until Forget.
func Recover(journal string) (*Recovery, error) {
	return recoverWith(journal, func(string) {})
}

func recoverWith(journal string, step func(string)) (*Recovery, error) {
	s, err := readJournal(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, forget(journal)
	}
	r := &Recovery{Completed: s.done, Project: s.Project, Note: s.Note, journal: journal}
	project, err := reopen(s)
	if errors.Is(err, fs.ErrNotExist) {
		r.Problems = []string{fmt.Sprintf("the project %q is gone", s.Project)}
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	defer project.Close()
	d := &dirs{root: project, notes: s.Dirs, open: map[int]*os.File{}}
	for i := range d.notes {
		d.notes[i].Dev = 0 // numbers of devices may change with a restart of the machine
	}
	defer d.close()
	if s.done {
		return r, (&cleaner{dirs: d, step: step}).run(s.Ops)
	}
	r.Problems, err = (&undoer{story: s, dirs: d, step: step}).run()
	return r, err
}

// reopen opens the project of a journal: the same directory, not just one of
// the same name.
func reopen(s *story) (*os.File, error) {
	f, err := os.OpenFile(s.Project, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := within.Fstat(f)
	if err == nil && st.Ino != s.Ino {
		err = fmt.Errorf("project %q is another directory than before: %w", s.Project, fs.ErrNotExist)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
