// Package within works on a tree of files through descriptors of its
// directories. No path it is given is ever resolved through a symbolic link, out
// of the tree or onto another filesystem mounted in it (openat2: RESOLVE_BENEATH,
// RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV), so that whoever swaps a directory for a
// link meanwhile gets an error and nothing else.
//
// Functions that take a name take one component; those that take a path resolve
// it from the directory that is given.
package within

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/beneath"
	"github.com/coop-dev/coop/internal/linux/filestat"
)

const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// Open opens a path below dir. What has become a fifo does not hold it up.
func Open(dir *os.File, path string, flags int, perm fs.FileMode) (*os.File, error) {
	return open(dir, path, flags, perm, resolve|unix.RESOLVE_NO_XDEV)
}

// OpenMounted opens a directory below dir that another filesystem may be mounted
// on.
func OpenMounted(dir *os.File, path string) (*os.File, error) {
	return open(dir, path, unix.O_RDONLY|unix.O_DIRECTORY, 0, resolve)
}

func open(dir *os.File, path string, flags int, perm fs.FileMode, resolve uint64) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags) | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_NOCTTY,
		Resolve: resolve,
	}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(perm.Perm())
	}
	fd, err := beneath.Lookup(dir, path, &how)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenDir opens a directory below dir; "" and "." are dir itself.
func OpenDir(dir *os.File, path string) (*os.File, error) {
	if path == "" {
		path = "."
	}
	return Open(dir, path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// OpenRegular opens a file for reading and refuses what is none.
func OpenRegular(dir *os.File, path string) (*os.File, error) {
	f, err := Open(dir, path, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = failed("open", path, errors.New("not a regular file"))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Create makes a file that must not be there.
func Create(dir *os.File, name string) (*os.File, error) {
	return Open(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
}

func failed(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// Stat is what is known of one entry.
type Stat = filestat.Stat

// Lstat looks at an entry of dir itself, a link included.
func Lstat(dir *os.File, name string) (Stat, error) { return filestat.In(dir, name) }

// Fstat looks at an open file.
func Fstat(f *os.File) (Stat, error) { return filestat.Of(f) }

// LstatPath looks at a path below dir, following nothing.
func LstatPath(dir *os.File, path string) (Stat, error) {
	parent, name, done, err := Parent(dir, path)
	if err != nil {
		return Stat{}, err
	}
	defer done()
	return Lstat(parent, name)
}

// Parent opens the directory that holds a path. done closes it.
func Parent(dir *os.File, path string) (parent *os.File, name string, done func(), err error) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return dir, path, func() {}, nil
	}
	parent, err = OpenDir(dir, path[:i])
	if err != nil {
		return nil, "", nil, err
	}
	return parent, path[i+1:], func() { parent.Close() }, nil
}
