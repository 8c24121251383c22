// Package diskuse counts what a directory tree takes on disk. The tree may be
// hostile and alive: no link is followed, what vanishes is not counted, and the
// number of open directories is bounded.
package diskuse

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxDepth is how many directories are open at once. What lies deeper is not
// counted: only a program that means harm makes such a tree.
const maxDepth = 256

// file names a file that has several names, so that it is counted once.
type file struct{ dev, ino uint64 }

type counter struct {
	ctx   context.Context //nolint:containedctx // one walk
	bytes int64
	seen  map[file]bool
}

// Tree gives the bytes allocated for dir and everything below it on the same
// file system. A dir that is not there takes nothing.
func Tree(ctx context.Context, dir string) (int64, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return 0, nil
	}
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	c := counter{ctx: ctx, seen: map[file]bool{}}
	top := os.NewFile(uintptr(fd), dir)
	defer top.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	c.add(&st)
	err = c.walk(top, st.Dev, 0)
	return c.bytes, err
}

func (c *counter) walk(dir *os.File, dev uint64, depth int) error {
	for {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			if err := c.entry(dir, name, dev, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || (err == nil && len(names) == 0) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *counter) entry(dir *os.File, name string, dev uint64, depth int) error {
	var st unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || st.Dev != dev {
		return nil //nolint:nilerr // it has gone meanwhile, or is another file system's
	}
	c.add(&st)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || depth == maxDepth {
		return nil
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil //nolint:nilerr // gone, or swapped for something else
	}
	sub := os.NewFile(uintptr(fd), name)
	defer sub.Close()
	return c.walk(sub, dev, depth+1)
}

func (c *counter) add(st *unix.Stat_t) {
	if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		f := file{st.Dev, st.Ino}
		if c.seen[f] {
			return
		}
		c.seen[f] = true
	}
	c.bytes += st.Blocks * 512 // always 512, whatever the block size: stat(2)
}

// File gives the bytes allocated for one file.
func File(path string) (int64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return 0, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return st.Blocks * 512, nil
}
