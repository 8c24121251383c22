package within

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/filestat"
)

// Mkdir makes a directory that must not be there.
func Mkdir(dir *os.File, name string, perm fs.FileMode) error {
	if err := unix.Mkdirat(int(dir.Fd()), name, uint32(perm.Perm())); err != nil {
		return failed("mkdir", name, err)
	}
	return nil
}

// Symlink makes a link that must not be there.
func Symlink(target string, dir *os.File, name string) error {
	if err := unix.Symlinkat(target, int(dir.Fd()), name); err != nil {
		return failed("symlink", name, err)
	}
	return nil
}

// Readlink reads a link's target.
func Readlink(dir *os.File, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(dir.Fd()), name, buf)
	if err != nil {
		return "", failed("readlink", name, err)
	}
	return string(buf[:n]), nil
}

// Rename moves an entry to a name that must be free.
func Rename(dir *os.File, from, to string) error {
	return RenameTo(dir, from, dir, to)
}

// RenameTo is Rename from one directory to another.
func RenameTo(dir *os.File, from string, toDir *os.File, to string) error {
	err := unix.Renameat2(int(dir.Fd()), from, int(toDir.Fd()), to, unix.RENAME_NOREPLACE)
	if !Unsupported(err) {
		return renamed(to, err)
	}
	// A filesystem without the flag (NFS, some of FUSE): the look and the rename
	// are two steps there.
	if _, err := Lstat(toDir, to); !errors.Is(err, fs.ErrNotExist) {
		return failed("rename", to, unix.EEXIST)
	}
	return Replace(dir, from, toDir, to)
}

// Replace moves an entry over whatever has the name.
func Replace(dir *os.File, from string, toDir *os.File, to string) error {
	return renamed(to, unix.Renameat(int(dir.Fd()), from, int(toDir.Fd()), to))
}

// Exchange swaps two entries of a directory in one step.
func Exchange(dir *os.File, a, b string) error {
	fd := int(dir.Fd())
	return renamed(b, unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE))
}

// Unsupported reports that a filesystem has no renames with flags.
func Unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP)
}

func renamed(name string, err error) error {
	if err != nil {
		return failed("rename", name, err)
	}
	return nil
}

// Unlink removes an entry that is no directory.
func Unlink(dir *os.File, name string) error {
	if err := unix.Unlinkat(int(dir.Fd()), name, 0); err != nil {
		return failed("unlink", name, err)
	}
	return nil
}

// Rmdir removes an empty directory.
func Rmdir(dir *os.File, name string) error {
	if err := unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR); err != nil {
		return failed("rmdir", name, err)
	}
	return nil
}

// Chmod sets exactly these permissions, the umask notwithstanding.
func Chmod(f *os.File, perm fs.FileMode) error {
	if err := unix.Fchmod(int(f.Fd()), uint32(perm.Perm())); err != nil {
		return failed("chmod", f.Name(), err)
	}
	return nil
}

// Chown gives an entry of dir, a link itself included, to somebody.
func Chown(dir *os.File, name string, uid, gid uint32) error {
	if err := unix.Fchownat(int(dir.Fd()), name, int(uid), int(gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return failed("chown", name, err)
	}
	return nil
}

// SetMTime sets when an open file was last modified; its time of access stays.
func SetMTime(f *os.File, t time.Time) error {
	ts := [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(t.UnixNano())}
	if err := filestat.SetTimes(int(f.Fd()), &ts); err != nil {
		return failed("utimens", f.Name(), err)
	}
	return nil
}

// SetMTimeOf does it for an entry of dir.
func SetMTimeOf(dir *os.File, name string, t time.Time) error {
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(t.UnixNano())}
	if err := unix.UtimesNanoAt(int(dir.Fd()), name, ts, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return failed("utimens", name, err)
	}
	return nil
}

// SyncFilesystem writes out everything of the filesystem that f is on.
func SyncFilesystem(f *os.File) error {
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return failed("syncfs", f.Name(), err)
	}
	return nil
}

// MaxDepth is how many directories RemoveAll goes down; each holds a descriptor.
const MaxDepth = 512

// RemoveAll removes an entry with everything in it, following no link. step is
// called after every entry; an entry that is not there is no error.
func RemoveAll(dir *os.File, name string, step func()) error {
	return removeAll(dir, name, step, 0)
}

func removeAll(dir *os.File, name string, step func(), depth int) error {
	err := Unlink(dir, name)
	switch {
	case err == nil:
		step()
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.EROFS) && absent(dir, name):
		return nil // a read-only filesystem says so before it looks
	case !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM): // EPERM: what POSIX says for a directory
		return err
	case depth == MaxDepth:
		return failed("remove", name, unix.ELOOP)
	}
	sub, oerr := OpenDir(dir, name)
	if oerr != nil {
		return err
	}
	defer sub.Close()
	if err := EachName(sub, func(n string) error { return removeAll(sub, n, step, depth+1) }); err != nil {
		return err
	}
	if err := Rmdir(dir, name); err != nil {
		return err
	}
	step()
	return nil
}

func absent(dir *os.File, name string) bool {
	_, err := Lstat(dir, name)
	return errors.Is(err, fs.ErrNotExist)
}

// EachName calls do with every name of an open directory, from the beginning.
func EachName(dir *os.File, do func(name string) error) error {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := do(n); err != nil {
			return err
		}
	}
	return nil
}
