// Package rmtree removes directory trees that hostile programs have made. A tree
// may be deeper than a process can have descriptors or a path can have bytes, so
// it goes down a bounded number of levels and pulls what lies deeper up to the
// top, where it is just another entry.
package rmtree

import (
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxDepth is how many directories are open at once.
const maxDepth = 64

// Remove removes dir and everything below it, following no link. A dir that is
// not there is no error.
func Remove(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return os.RemoveAll(dir) // a file, a link, or an error it words better
	}
	top := os.NewFile(uintptr(fd), dir)
	defer top.Close()
	r := remover{top: top}
	for {
		r.moved = 0
		if err := r.empty(top, 0); err != nil {
			return err
		}
		if r.moved == 0 { // otherwise what was pulled up is still to be removed
			return os.Remove(dir)
		}
	}
}

type remover struct {
	top   *os.File
	moved int
	named int
}

// empty removes the entries of an open directory.
func (r *remover) empty(dir *os.File, depth int) error {
	for {
		names, err := dir.Readdirnames(1024)
		if len(names) == 0 {
			if _, serr := dir.Seek(0, 0); serr != nil {
				return serr
			}
			return ignoreEOF(err)
		}
		for _, name := range names {
			if err := r.remove(dir, name, depth); err != nil {
				return err
			}
		}
	}
}

func (r *remover) remove(dir *os.File, name string, depth int) error {
	at := int(dir.Fd())
	err := unix.Unlinkat(at, name, 0)
	if err == nil || err == unix.ENOENT {
		return nil
	}
	if err != unix.EISDIR && err != unix.EPERM { // EPERM: what POSIX says for a directory
		return &os.PathError{Op: "unlink", Path: name, Err: err}
	}
	if depth == maxDepth {
		return r.pullUp(at, name)
	}
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	sub := os.NewFile(uintptr(fd), name)
	err = r.empty(sub, depth+1)
	sub.Close()
	if err != nil {
		return err
	}
	if err := unix.Unlinkat(at, name, unix.AT_REMOVEDIR); err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "rmdir", Path: name, Err: err}
	}
	return nil
}

// pullUp moves a directory to the top under a name nothing there has.
func (r *remover) pullUp(at int, name string) error {
	for {
		r.named++
		err := unix.Renameat2(at, name, int(r.top.Fd()), ".deep-"+strconv.Itoa(r.named), unix.RENAME_NOREPLACE)
		if err == unix.EEXIST {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "rename", Path: name, Err: err}
		}
		r.moved++
		return nil
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
