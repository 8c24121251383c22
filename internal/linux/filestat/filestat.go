// Package filestat says what is known of a file, in one form for everybody who
// looks: by path, by descriptor, or with a stat of his own.
package filestat

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Stat is what is known of one file without opening it.
type Stat struct {
	Mode         fs.FileMode // type, permissions, setuid and the like
	UID, GID     uint32
	Dev, Ino     uint64
	Links        uint64
	Size         int64
	Rdev         uint64
	MTime, CTime time.Time
}

// Of looks at an open file.
func Of(f *os.File) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Stat{}, &fs.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return from(&st), nil
}

// At looks at a path without following a link at its end.
func At(path string) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return Stat{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return from(&st), nil
}

// In looks at one name of a directory, without following it.
func In(dir *os.File, name string) (Stat, error) {
	var st unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
	if err != nil {
		return Stat{}, &fs.PathError{Op: "fstatat", Path: name, Err: err}
	}
	return from(&st), nil
}

// OfFD is Of for a bare descriptor.
func OfFD(fd int) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Stat{}, os.NewSyscallError("fstat", err)
	}
	return from(&st), nil
}

func from(st *unix.Stat_t) Stat {
	return Stat{
		Mode: mode(st.Mode), UID: st.Uid, GID: st.Gid, Dev: uint64(st.Dev), Ino: st.Ino, Links: uint64(st.Nlink),
		Size: st.Size, Rdev: uint64(st.Rdev), MTime: time.Unix(st.Mtim.Unix()), CTime: time.Unix(st.Ctim.Unix()),
	}
}

// mode is os.FileInfo's form of st_mode.
func mode(m uint32) fs.FileMode {
	out := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		out |= fs.ModeDir
	case unix.S_IFLNK:
		out |= fs.ModeSymlink
	case unix.S_IFIFO:
		out |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		out |= fs.ModeSocket
	case unix.S_IFBLK:
		out |= fs.ModeDevice
	case unix.S_IFCHR:
		out |= fs.ModeDevice | fs.ModeCharDevice
	}
	if m&unix.S_ISUID != 0 {
		out |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		out |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		out |= fs.ModeSticky
	}
	return out
}

// Whiteout reports a character device 0/0, overlayfs' mark for a deletion.
func (s Stat) Whiteout() bool { return s.Mode&fs.ModeCharDevice != 0 && s.Rdev == 0 }

// Same reports whether two looks were at the same file.
func (s Stat) Same(o Stat) bool { return s.Dev == o.Dev && s.Ino == o.Ino }

// HasXattr reports whether an open file has an extended attribute.
func HasXattr(f *os.File, name string) bool {
	n, err := unix.Fgetxattr(int(f.Fd()), name, nil)
	return err == nil && n > 0
}
