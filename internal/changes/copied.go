package changes

import (
	"errors"
	"io/fs"
	"os"

	"github.com/coop-dev/coop/internal/changes/manifest"
	"github.com/coop-dev/coop/internal/linux/beneath"
)

// copied reads a private copy of the project by what its manifest says it was:
//
//	in the copy                            means
//	inode, mode, size and ctime as then    untouched, whatever the project is now
//	another of these, or not there then    written to: compared with the project
//	gone                                   deleted
//
// ctime cannot be set from inside, and the sandbox was started only when the
// filesystem's clock had passed those in the manifest.
type copied struct {
	root *os.File
	was  *manifest.Manifest
}

func (c *copied) read(path string, max int) (*listing, error) {
	dir, err := beneath.Dir(c.root, path)
	if err != nil {
		return nil, err
	}
	l := &listing{dir: dir, entries: map[string]entry{}}
	if err := c.fill(l, path, max); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (c *copied) fill(l *listing, path string, max int) error {
	was, _, err := c.was.Dir(path)
	if err != nil {
		return err
	}
	names, err := beneath.Names(l.dir, max+len(was))
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := beneath.Entry(l.dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		then, known := was[name]
		delete(was, name)
		same := known && info.Mode == then.Mode && (info.Mode.IsDir() || untouched(info, then))
		if !same || info.Mode.IsDir() {
			l.entries[name] = entry{Info: info, same: same}
		}
	}
	for name := range was {
		l.entries[name] = entry{gone: true}
	}
	return nil
}

func untouched(now beneath.Info, then manifest.Entry) bool {
	return now.Ino == then.Ino && now.Size == then.Size && now.CTime.UnixNano() == then.CTime
}

// whole: every byte of a copy is its own.
func (c *copied) whole(*os.File) error { return nil }

func (c *copied) foreign(string) bool { return false }
