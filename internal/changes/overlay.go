package changes

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/coop-dev/coop/internal/linux/beneath"
)

// layer is how a driver writes down what differs from the project.
type layer interface {
	// read looks at a directory that is in the layer.
	read(path string, max int) (*listing, error)
	// whole refuses a file whose bytes are not all its own.
	whole(f *os.File) error
	// foreign reports the attribute of such a file.
	foreign(xattr string) bool
}

// listing is one directory of a layer. A name that is not in it is as in the
// base, if the directory has one.
type listing struct {
	dir      *os.File
	entries  map[string]entry
	opaque   bool    // nothing of the base shows
	redirect *string // the base is there instead: absolute, or beside the base's own place
}

func (l *listing) close() { l.dir.Close() }

// entry is one name of a layer.
type entry struct {
	beneath.Info
	gone bool // the base's file of this name is deleted
	same bool // a directory with the mode that it was given at first
}

// overlay reads the upper layer of a kernel overlay.
//
//	in the layer                                means
//	character device 0/0                        deleted
//	empty file with NOTES+whiteout in a         deleted (where device nodes cannot be made)
//	  directory with NOTES+opaque = "x"
//	directory with NOTES+opaque = "y"           made anew: nothing of the base shows
//	directory with NOTES+redirect = "/a/b"      the base is a/b of the project (renamed)
//	directory with NOTES+redirect = "b"         the base is b beside the base's own place
//	file with NOTES+metacopy                    only its mode was copied: refused, we never ask for it
//
// A program inside cannot forge these: through its mount the kernel refuses or
// escapes attributes of this name, and refuses to make device 0/0.
type overlay struct {
	root      *os.File
	notes     string // prefix of the attributes that the mount uses
	redirects bool
}

func (o *overlay) read(path string, max int) (*listing, error) {
	dir, err := beneath.Dir(o.root, path)
	if err != nil {
		return nil, err
	}
	l := &listing{dir: dir, entries: map[string]entry{}}
	if err := o.fill(l, max); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (o *overlay) fill(l *listing, max int) error {
	opaque, _, err := beneath.Xattr(l.dir, o.notes+"opaque")
	if err != nil {
		return err
	}
	l.opaque = opaque == "y"
	if o.redirects {
		if to, ok, err := beneath.Xattr(l.dir, o.notes+"redirect"); err != nil {
			return err
		} else if ok {
			l.redirect = &to
		}
	}
	names, err := beneath.Names(l.dir, max)
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := beneath.Entry(l.dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // made and removed meanwhile
		}
		if err != nil {
			return err
		}
		l.entries[name] = entry{Info: info, gone: info.Whiteout() || (opaque == "x" && o.marked(l.dir, name, info))}
	}
	return nil
}

// marked reports a whiteout that is an ordinary file.
func (o *overlay) marked(dir *os.File, name string, info beneath.Info) bool {
	if !info.Mode.IsRegular() || info.Size != 0 {
		return false
	}
	f, _, err := beneath.File(dir, name)
	if err != nil {
		return false
	}
	defer f.Close()
	_, ok, _ := beneath.Xattr(f, o.notes+"whiteout") // unreadable: then it is a file
	return ok
}

// errMetacopy is the answer to a file whose content is somewhere else.
var errMetacopy = errors.New("its content is not in the layer (metacopy)")

func (o *overlay) whole(f *os.File) error {
	if _, ok, err := beneath.Xattr(f, o.notes+"metacopy"); err != nil {
		return err
	} else if ok {
		return errMetacopy
	}
	return nil
}

func (o *overlay) foreign(xattr string) bool { return xattr == o.notes+"metacopy" }

// base says which directory of the project shows through a directory of the
// layer. natural is the one at its own place in its parent's base, if that has one.
func (l *listing) base(natural string, based bool) (path string, ok bool) {
	switch {
	case l.opaque:
		l.redirect = nil // it counts for nothing then
		return "", false
	case l.redirect == nil:
		return natural, based
	}
	to, absolute := strings.CutPrefix(*l.redirect, "/")
	if !absolute {
		if strings.Contains(to, "/") || !based {
			return "", false // as the kernel: it is no name beside another
		}
		to = join(parent(natural), to)
	}
	return to, plain(to)
}

// plain reports a path without tricks. The lookup would refuse the others too.
func plain(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.Contains(part, "\x00") {
			return false
		}
	}
	return true
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ""
	}
	return path[:i]
}
