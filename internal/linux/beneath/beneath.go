// Package beneath looks at and opens files below a directory that hostile
// programs may be changing at the same time. No link is followed anywhere in a
// path, no path leads above the directory, and opening has no side effect: a
// fifo is not waited for, a device is not touched.
package beneath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// resolve is how every path is looked up.
const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// ErrNotRegular is the answer to opening a link, a fifo, a device or a directory
// as a file.
var ErrNotRegular = errors.New("not a regular file")

// Info is what is known of one file without opening it.
type Info struct {
	Mode         fs.FileMode
	Size         int64
	Dev, Ino     uint64
	Links        uint64
	Rdev         uint64
	UID, GID     uint32
	MTime, CTime time.Time
}

// Whiteout reports a character device 0/0, overlayfs' mark for a deletion.
func (i Info) Whiteout() bool { return i.Mode&fs.ModeCharDevice != 0 && i.Rdev == 0 }

// maxMoved is how often in a row that may happen; a path that really leads above
// the directory is refused every time.
const maxMoved = 64

func openat2(dir *os.File, path string, how *unix.OpenHow) (int, error) {
	if path == "" {
		path = "."
	}
	for left := maxMoved; ; {
		fd, err := unix.Openat2(int(dir.Fd()), path, how)
		if err == unix.EINTR || err == unix.EAGAIN { // EAGAIN: a rename elsewhere raced with the lookup
			continue
		}
		if err == unix.EXDEV && left > 0 {
			// Moved out of the directory between the lookup and its end, as overlayfs
			// does with what is removed. Looked up again, it is gone or another one.
			left--
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "openat2", Path: path, Err: err}
		}
		return fd, nil
	}
}

// open is openat2 of a path beneath dir; "" is dir itself.
func open(dir *os.File, path string, flags uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: resolve}
	fd, err := openat2(dir, path, &how)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Dir opens a directory for reading its names.
func Dir(dir *os.File, path string) (*os.File, error) {
	return open(dir, path, unix.O_RDONLY|unix.O_DIRECTORY)
}

// File opens a regular file for reading. What it is gets looked at through a
// descriptor that cannot be read from (O_PATH) first, so that nothing else is
// ever opened; that descriptor is then opened again.
func File(dir *os.File, path string) (*os.File, Info, error) {
	p, err := open(dir, path, unix.O_PATH)
	if err != nil {
		return nil, Info{}, err
	}
	defer p.Close()
	info, err := Opened(p)
	if err != nil {
		return nil, info, err
	}
	if !info.Mode.IsRegular() {
		return nil, info, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(p.Fd())), unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, info, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), info, nil
}

// Head is the beginning of a regular file, with what is known of the whole.
type Head struct {
	Info
	Bytes  []byte
	Xattrs []string // names of its extended attributes
}

// Read reads the beginning of a regular file into buf, in as few calls as can be:
// a diff does it for every changed file. It opens the file at once, without
// looking first. That is safe where the kernel lets nobody make a device, as in a
// user namespace; a fifo is not waited for, and is not read from.
func Read(dir *os.File, path string, buf []byte) (h Head, err error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: resolve}
	fd, err := openat2(dir, path, &how)
	if err != nil {
		return h, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return h, &fs.PathError{Op: "fstat", Path: path, Err: err}
	}
	if h.Info = from(&st); !h.Mode.IsRegular() {
		return h, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if h.Xattrs, err = xattrNames(fd); err != nil {
		return h, &fs.PathError{Op: "flistxattr", Path: path, Err: err}
	}
	n := 0
	for n < len(buf) && int64(n) < h.Size {
		m, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return h, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if m == 0 {
			break
		}
		n += m
	}
	h.Bytes = buf[:n]
	return h, nil
}

func xattrNames(fd int) ([]string, error) {
	var small [512]byte
	n, err := unix.Flistxattr(fd, small[:])
	list := small[:max(n, 0)]
	if err == unix.ERANGE {
		large := make([]byte, 64<<10) // XATTR_LIST_MAX
		n, err = unix.Flistxattr(fd, large)
		list = large[:max(n, 0)]
	}
	if err == unix.EOPNOTSUPP || (err == nil && len(list) == 0) {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00"), err
}

// At looks at a path beneath dir; the last part may be anything.
func At(dir *os.File, path string) (Info, error) {
	p, err := open(dir, path, unix.O_PATH)
	if err != nil {
		return Info{}, err
	}
	defer p.Close()
	return Opened(p)
}

// Opened looks at an open file.
func Opened(f *os.File) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Info{}, &fs.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return from(&st), nil
}

// Entry looks at one name of a directory, without following it.
func Entry(dir *os.File, name string) (Info, error) {
	var st unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
	if err != nil {
		return Info{}, &fs.PathError{Op: "fstatat", Path: name, Err: err}
	}
	return from(&st), nil
}

// Link reads where a symbolic link in a directory points.
func Link(dir *os.File, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(dir.Fd()), name, buf)
	if err != nil {
		return "", &fs.PathError{Op: "readlinkat", Path: name, Err: err}
	}
	return string(buf[:n]), nil
}

// Names reads the names of an open directory, at most max of them; more are an
// error, so that a directory of many millions does not become our memory.
func Names(dir *os.File, max int) ([]string, error) {
	var all []string
	for {
		names, err := dir.Readdirnames(4096)
		if all = append(all, names...); len(all) > max {
			return nil, fmt.Errorf("read directory %q: %w", dir.Name(), ErrTooMany)
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// ErrTooMany says that a directory has more names than the caller can take.
var ErrTooMany = errors.New("too many files")

// Xattr reads an extended attribute of an open file; ok is false when it has none.
func Xattr(f *os.File, name string) (value string, ok bool, err error) {
	var small [256]byte
	n, err := unix.Fgetxattr(int(f.Fd()), name, small[:])
	if err == nil {
		return string(small[:n]), true, nil
	}
	if err == unix.ERANGE {
		large := make([]byte, 64<<10) // XATTR_SIZE_MAX
		if n, err = unix.Fgetxattr(int(f.Fd()), name, large); err == nil {
			return string(large[:n]), true, nil
		}
	}
	if err == unix.ENODATA || err == unix.EOPNOTSUPP {
		return "", false, nil
	}
	return "", false, &fs.PathError{Op: "fgetxattr " + name, Path: f.Name(), Err: err}
}

// RemoveXattr takes an extended attribute off an open file.
func RemoveXattr(f *os.File, name string) error {
	if err := unix.Fremovexattr(int(f.Fd()), name); err != nil && err != unix.ENODATA {
		return &fs.PathError{Op: "fremovexattr " + name, Path: f.Name(), Err: err}
	}
	return nil
}

func from(st *unix.Stat_t) Info {
	return Info{
		Mode: mode(st.Mode), Size: st.Size, Dev: uint64(st.Dev), Ino: st.Ino, Links: uint64(st.Nlink), Rdev: uint64(st.Rdev),
		UID: st.Uid, GID: st.Gid,
		MTime: time.Unix(st.Mtim.Unix()), CTime: time.Unix(st.Ctim.Unix()),
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

// Path opens whatever a path names, a link at its end included, for looking and
// mounting only (O_PATH): nothing happens to it.
func Path(dir *os.File, path string) (*os.File, error) { return open(dir, path, unix.O_PATH) }
