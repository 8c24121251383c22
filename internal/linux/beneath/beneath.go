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

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/filestat"
)

// resolve is how every path is looked up.
const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// ErrNotRegular is the answer to opening a link, a fifo, a device or a directory
// as a file.
var ErrNotRegular = errors.New("not a regular file")

// Info is what is known of one file without opening it.
type Info = filestat.Stat

// maxMoved bounds how often in a row a lookup may be disturbed. EAGAIN: something
// was renamed elsewhere while the kernel went up. EXDEV: what was found has been
// moved out of the directory before the lookup was through, as overlayfs does
// with what is removed; looked up again, it is gone or another one. A path that
// really leads above the directory is refused every time.
const maxMoved = 64

// Lookup is openat2(2) below a directory, "" being the directory itself.
func Lookup(dir *os.File, path string, how *unix.OpenHow) (int, error) {
	if path == "" {
		path = "."
	}
	for left := maxMoved; ; {
		fd, err := unix.Openat2(int(dir.Fd()), path, how)
		if err == unix.EINTR {
			continue
		}
		if (err == unix.EAGAIN || err == unix.EXDEV) && left > 0 {
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
	fd, err := Lookup(dir, path, &how)
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
	fd, err := Lookup(dir, path, &how)
	if err != nil {
		return h, err
	}
	defer unix.Close(fd)
	if h.Info, err = filestat.OfFD(fd); err != nil {
		return h, err
	}
	if !h.Mode.IsRegular() {
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
func Opened(f *os.File) (Info, error) { return filestat.Of(f) }

// Entry looks at one name of a directory, without following it.
func Entry(dir *os.File, name string) (Info, error) { return filestat.In(dir, name) }

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

// Path opens whatever a path names, a link at its end included, for looking and
// mounting only (O_PATH): nothing happens to it.
func Path(dir *os.File, path string) (*os.File, error) { return open(dir, path, unix.O_PATH) }
