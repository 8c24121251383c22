// Package layerdir makes a directory tree from descriptions nobody trusts: the
// entries of an image layer. It owns the system calls, not the decisions.
//
// Invariant: every path is looked up by the kernel beneath the tree's root
// (openat2 with RESOLVE_IN_ROOT, no magic links, no other file system), and the
// last name is never followed. Whatever links a layer holds, nothing outside of
// the tree is opened, made, changed or removed.
package layerdir

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Tree is a directory that is being filled. It is not safe for concurrent use.
type Tree struct {
	root *os.File

	// The directory that was used last: archives list entries by directory.
	last string
	dir  int
}

// Open takes an existing directory, which nobody else may change meanwhile.
func Open(dir string) (*Tree, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return &Tree{root: os.NewFile(uintptr(fd), dir), dir: -1}, nil
}

// Close may be called twice.
func (t *Tree) Close() error {
	t.forget()
	return t.root.Close()
}

// SyncFS writes everything of the tree's file system to disk.
func (t *Tree) SyncFS() error {
	return os.NewSyscallError("syncfs", unix.Syncfs(int(t.root.Fd())))
}

// Place is where an entry goes: a name in an open directory. It is good until
// the next call of At.
type Place struct {
	dir  int
	Name string
}

// At finds the place of a clean relative path, making the directories above it
// that are missing. "." is the root itself.
func (t *Tree) At(p string) (Place, error) {
	dir, name := path.Split(p)
	dir = strings.TrimSuffix(dir, "/")
	if dir == "" {
		return Place{int(t.root.Fd()), name}, nil
	}
	if t.dir >= 0 && t.last == dir {
		return Place{t.dir, name}, nil
	}
	fd, err := t.open(dir)
	if errors.Is(err, unix.ENOENT) {
		fd, err = t.mkdirAll(dir)
	}
	if err != nil {
		return Place{}, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	t.forget()
	t.last, t.dir = dir, fd
	return Place{fd, name}, nil
}

// forget closes the remembered directory; whoever removes or replaces a
// directory must, or entries would go into one that is no longer in the tree.
func (t *Tree) forget() {
	if t.dir >= 0 {
		_ = unix.Close(t.dir) // only read from
	}
	t.last, t.dir = "", -1
}

func (t *Tree) open(dir string) (int, error) {
	return unix.Openat2(int(t.root.Fd()), dir, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
}

// mkdirAll makes what is missing of a directory's path. Of a path through a
// link whose target is missing nothing is made: ELOOP or ENOTDIR.
func (t *Tree) mkdirAll(dir string) (int, error) {
	for i := 0; i <= len(dir); i++ {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		fd, err := t.open(dir[:i])
		if err == nil {
			unix.Close(fd)
			continue
		}
		if err != unix.ENOENT {
			return -1, err
		}
		if err := t.mkdirOne(dir[:i]); err != nil {
			return -1, err
		}
	}
	return t.open(dir)
}

func (t *Tree) mkdirOne(dir string) error {
	above, name := path.Split(dir)
	at, err := t.open("./" + above)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := unix.Mkdirat(at, name, 0o700); err != nil {
		if err == unix.EEXIST {
			return unix.ELOOP // a link that leads nowhere
		}
		return err
	}
	if err := unix.Fchownat(at, name, 0, 0, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	return unix.Fchmodat(at, name, 0o755, 0)
}
