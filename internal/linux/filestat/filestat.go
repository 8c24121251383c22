// Package filestat reads what os.FileInfo hides: owner, device and inode.
package filestat

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stat is what is known of one file.
type Stat struct {
	Mode     fs.FileMode
	UID, GID uint32
	Dev, Ino uint64
	Size     int64
	Rdev     uint64
}

// Of looks at an open file.
func Of(f *os.File) (Stat, error) {
	info, err := f.Stat()
	if err != nil {
		return Stat{}, err
	}
	return from(info), nil
}

// At looks at a path without following a link at its end.
func At(path string) (Stat, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Stat{}, err
	}
	return from(info), nil
}

func from(info fs.FileInfo) Stat {
	s := Stat{Mode: info.Mode(), Size: info.Size()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.UID, s.GID, s.Dev, s.Ino, s.Rdev = sys.Uid, sys.Gid, sys.Dev, sys.Ino, sys.Rdev
	}
	return s
}

// Same reports whether two looks were at the same file.
func (s Stat) Same(o Stat) bool { return s.Dev == o.Dev && s.Ino == o.Ino }

// HasXattr reports whether an open file has an extended attribute.
func HasXattr(f *os.File, name string) bool {
	n, err := unix.Fgetxattr(int(f.Fd()), name, nil)
	return err == nil && n > 0
}
