package layerdir

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/mount"
	"github.com/coop-dev/coop/internal/linux/rmtree"
)

// Kind is what lies at a place.
type Kind int

// The kinds that matter to somebody who makes a layer.
const (
	Nothing Kind = iota
	Directory
	Whiteout
	Other
)

// Kind looks at a place without following a link.
func (t *Tree) Kind(p Place) (Kind, error) {
	var st unix.Stat_t
	err := unix.Fstatat(p.dir, p.Name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case err == unix.ENOENT:
		return Nothing, nil
	case err != nil:
		return Nothing, &os.PathError{Op: "stat", Path: p.Name, Err: err}
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return Directory, nil
	case st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0:
		return Whiteout, nil
	}
	return Other, nil
}

// Remove removes whatever is at a place, a directory with all it holds. The
// remembered directory stays open, as it may be the place's own, but is looked
// up anew: its path may have led through what is gone.
func (t *Tree) Remove(p Place) error {
	t.last = ""
	err := unix.Unlinkat(p.dir, p.Name, 0)
	switch {
	case err == nil || err == unix.ENOENT:
		return nil
	case err != unix.EISDIR && err != unix.EPERM:
		return &os.PathError{Op: "unlink", Path: p.Name, Err: err}
	}
	return rmtree.Remove(mount.FDPath(p.dir) + "/" + p.Name)
}

// Mkdir makes a directory for nobody else's eyes yet; Set gives it its mode.
func (t *Tree) Mkdir(p Place) error { return t.making("mkdir", p, unix.Mkdirat(p.dir, p.Name, 0o700)) }

// Symlink makes a link with any text.
func (t *Tree) Symlink(target string, p Place) error {
	return t.making("symlink", p, unix.Symlinkat(target, p.dir, p.Name))
}

// Fifo makes a named pipe.
func (t *Tree) Fifo(p Place) error {
	return t.making("mkfifo", p, unix.Mknodat(p.dir, p.Name, unix.S_IFIFO|0o600, 0))
}

// Whiteout makes the mark by which an overlay layer hides what is below. In a
// user namespace the kernel allows this one device since 5.8.
func (t *Tree) Whiteout(p Place) error {
	return t.making("whiteout", p, unix.Mknodat(p.dir, p.Name, unix.S_IFCHR, 0))
}

func (t *Tree) making(op string, p Place, err error) error {
	if err != nil {
		return &os.PathError{Op: op, Path: p.Name, Err: err}
	}
	return nil
}

// Link gives an existing file of the tree, by its clean relative path, one more
// name. A link is linked itself, not what it points to.
func (t *Tree) Link(from string, p Place) error {
	dir, name := splitLast(from)
	at := int(t.root.Fd())
	if dir != "" {
		fd, err := t.open(dir)
		if err != nil {
			return &os.PathError{Op: "open", Path: dir, Err: err}
		}
		defer unix.Close(fd)
		at = fd
	}
	return t.making("link", p, unix.Linkat(at, name, p.dir, p.Name, 0))
}

func splitLast(p string) (dir, name string) {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == '/' {
			return p[:i], p[i+1:]
		}
	}
	return "", p
}

// Meta is what an entry has beside its content.
type Meta struct {
	UID, GID int
	Mode     uint32 // permissions with set-uid, set-gid and sticky bits
	Time     time.Time
}

// Set gives an entry its owner, mode and time. The owner comes first: changing
// it clears the set-uid bit. Links have no mode.
func (t *Tree) Set(p Place, m Meta, link bool) error {
	if err := unix.Fchownat(p.dir, p.Name, m.UID, m.GID, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "chown", Path: p.Name, Err: err}
	}
	if !link {
		if err := unix.Fchmodat(p.dir, p.Name, m.Mode, 0); err != nil { // just made, and no link
			return &os.PathError{Op: "chmod", Path: p.Name, Err: err}
		}
	}
	return t.SetTime(p, m.Time)
}

// SetTime sets the time of an entry, of a link itself.
func (t *Tree) SetTime(p Place, at time.Time) error {
	ts := times(at)
	if err := unix.UtimesNanoAt(p.dir, p.Name, ts[:], unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "utimes", Path: p.Name, Err: err}
	}
	return nil
}

func times(at time.Time) [2]unix.Timespec {
	ts := unix.Timespec{Sec: at.Unix(), Nsec: int64(at.Nanosecond())}
	return [2]unix.Timespec{ts, ts}
}

// SetRoot gives the root directory itself its owner and mode.
func (t *Tree) SetRoot(m Meta) error {
	fd := int(t.root.Fd())
	if err := unix.Fchown(fd, m.UID, m.GID); err != nil {
		return os.NewSyscallError("chown root", err)
	}
	return os.NewSyscallError("chmod root", unix.Fchmod(fd, m.Mode))
}

// DirAttr sets an extended attribute of a directory; "." as a name is the root.
func (t *Tree) DirAttr(p Place, attr string, value []byte) error {
	name := p.Name
	if name == "" {
		name = "."
	}
	fd, err := unix.Openat(p.dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: p.Name, Err: err}
	}
	defer unix.Close(fd)
	return setAttr(fd, attr, value)
}

func setAttr(fd int, attr string, value []byte) error {
	if err := unix.Fsetxattr(fd, attr, value, 0); err != nil {
		return &os.PathError{Op: "setxattr", Path: attr, Err: err}
	}
	return nil
}

// AttrRefused reports whether an attribute could not be kept because this host
// or file system does not have such attributes, as opposed to a failure. For
// one that is too large ext4 says that no space is left.
func AttrRefused(err error) bool {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return false
	}
	switch errno {
	case unix.EPERM, unix.EOPNOTSUPP, unix.EINVAL, unix.E2BIG, unix.ERANGE, unix.ENOSPC:
		return true
	}
	return false
}
