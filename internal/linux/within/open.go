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
	"time"

	"golang.org/x/sys/unix"
)

const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// tries bounds how often an EAGAIN of openat2 is met: the kernel gives it when
// something was renamed while it looked.
const tries = 64

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
	for range tries {
		fd, err := unix.Openat2(int(dir.Fd()), path, &how)
		if err == unix.EAGAIN || err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, failed("open", path, err)
		}
		return os.NewFile(uintptr(fd), path), nil
	}
	return nil, failed("open", path, unix.EAGAIN)
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
type Stat struct {
	Mode         fs.FileMode // type, permissions, setuid and the like
	UID, GID     uint32
	Dev, Ino     uint64
	Nlink        uint64
	Size         int64
	MTime, CTime time.Time
	Rdev         uint64
}

// Lstat looks at an entry of dir itself, a link included.
func Lstat(dir *os.File, name string) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Stat{}, failed("stat", name, err)
	}
	return from(&st), nil
}

// Fstat looks at an open file.
func Fstat(f *os.File) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Stat{}, failed("stat", f.Name(), err)
	}
	return from(&st), nil
}

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

func from(st *unix.Stat_t) Stat {
	return Stat{
		Mode: mode(st.Mode), UID: st.Uid, GID: st.Gid, Dev: st.Dev, Ino: st.Ino, Nlink: uint64(st.Nlink), Size: st.Size,
		MTime: time.Unix(st.Mtim.Unix()), CTime: time.Unix(st.Ctim.Unix()), Rdev: st.Rdev,
	}
}

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
