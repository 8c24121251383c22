// Package idshift gives a tree the ids it has inside a sandbox. A sandbox of
// real root writes files that belong to ids of its own; as a layer of a base
// they belong to 0 and up, whichever sandbox uses them.
//
// Invariant: entries are named by open directory and single name, no link is
// followed, and what a change of owner clears (set-id bits, file capabilities)
// is put back. Nobody else may change the tree meanwhile.
package idshift

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/mount"
)

// maxDepth is how many directories are open at once; nothing honest is deeper.
const maxDepth = 512

// ErrDepth is a tree that no honest program makes.
var ErrDepth = errors.New("directories are nested too deep")

// Down moves the owners base, base+1, … of dir and everything below to 0, 1, ….
// Owners outside of count ids stay.
func Down(ctx context.Context, dir string, base, count uint32) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	top := os.NewFile(uintptr(fd), dir)
	defer top.Close()
	s := shifter{ctx, base, count}
	if err := s.entry(fd, "."); err != nil {
		return err
	}
	return s.walk(top, 0)
}

type shifter struct {
	ctx         context.Context //nolint:containedctx // one walk
	base, count uint32
}

func (s shifter) walk(dir *os.File, depth int) error {
	if depth == maxDepth {
		return ErrDepth
	}
	for {
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		list, err := dir.ReadDir(1024)
		for _, e := range list {
			if err := s.entry(int(dir.Fd()), e.Name()); err != nil {
				return err
			}
			if e.IsDir() {
				if err := s.descend(dir, e.Name(), depth); err != nil {
					return err
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF), err == nil && len(list) == 0:
			return nil
		case err != nil:
			return err
		}
	}
}

func (s shifter) descend(dir *os.File, name string, depth int) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	sub := os.NewFile(uintptr(fd), name)
	defer sub.Close()
	return s.walk(sub, depth+1)
}

// id is where an id goes; a name of a file that was met before is there already.
func (s shifter) id(id uint32) uint32 {
	if id-s.base < s.count { // below base it wraps around
		return id - s.base
	}
	return id
}

func (s shifter) entry(dir int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "stat", Path: name, Err: err}
	}
	uid, gid := s.id(st.Uid), s.id(st.Gid)
	if uid == st.Uid && gid == st.Gid {
		return nil
	}
	kind := st.Mode & unix.S_IFMT
	var attrs []attr
	if kind == unix.S_IFREG || kind == unix.S_IFDIR {
		var err error
		if attrs, err = s.attributes(mount.FDPath(dir) + "/" + name); err != nil {
			return err
		}
	}
	if err := unix.Fchownat(dir, name, int(uid), int(gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "chown", Path: name, Err: err}
	}
	if kind == unix.S_IFREG && st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		if err := unix.Fchmodat(dir, name, st.Mode&0o7777, 0); err != nil {
			return &os.PathError{Op: "chmod", Path: name, Err: err}
		}
	}
	for _, a := range attrs {
		if err := unix.Lsetxattr(mount.FDPath(dir)+"/"+name, a.name, a.value, 0); err != nil {
			return &os.PathError{Op: "setxattr " + a.name, Path: name, Err: err}
		}
	}
	return nil
}
