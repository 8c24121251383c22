// Package mount wraps the new mount API: filesystems and bind mounts are made
// detached, as descriptors, and attached by descriptor. Nothing here takes part
// in deciding what to mount where.
//
// Invariant: no function leaves a mount attached or a descriptor open when it
// returns an error.
package mount

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Attribute bits of a mount.
const (
	ReadOnly = unix.MOUNT_ATTR_RDONLY
	NoSuid   = unix.MOUNT_ATTR_NOSUID
	NoDev    = unix.MOUNT_ATTR_NODEV
	NoExec   = unix.MOUNT_ATTR_NOEXEC
)

// Option is one key and value of a filesystem; an empty value is a flag.
type Option struct{ Key, Value string }

// New makes a detached filesystem.
func New(fstype string, attrs int, opts ...Option) (*os.File, error) {
	fs, err := unix.Fsopen(fstype, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, &os.PathError{Op: "fsopen", Path: fstype, Err: err}
	}
	defer unix.Close(fs)
	for _, o := range opts {
		if err := configure(fs, o); err != nil {
			return nil, &os.PathError{Op: "fsconfig " + fstype, Path: o.Key + "=" + o.Value, Err: explain(fs, err)}
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, &os.PathError{Op: "fsconfig create", Path: fstype, Err: explain(fs, err)}
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attrs)
	if err != nil {
		return nil, &os.PathError{Op: "fsmount", Path: fstype, Err: explain(fs, err)}
	}
	return os.NewFile(uintptr(fd), fstype), nil
}

func configure(fs int, o Option) error {
	if o.Value == "" {
		return unix.FsconfigSetFlag(fs, o.Key)
	}
	return unix.FsconfigSetString(fs, o.Key, o.Value)
}

// explain adds what the kernel wrote into the filesystem context's log, which
// says far more than the error number ("upperdir is in-use", "failed to …").
func explain(fs int, err error) error {
	buf := make([]byte, 1024)
	n, rerr := unix.Read(fs, buf)
	if rerr != nil || n <= 2 {
		return err
	}
	return fmt.Errorf("%w (kernel: %s)", err, trim(buf[2:n]))
}

func trim(b []byte) string {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == 0) {
		b = b[:len(b)-1]
	}
	return string(b)
}

// Clone makes a detached copy of the mounts at and below the directory or file
// dir refers to. Recursive also copies what is mounted beneath it.
func Clone(dir int, path string, recursive bool) (*os.File, error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_SYMLINK_NOFOLLOW)
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(dir, path, flags)
	if err != nil {
		return nil, &os.PathError{Op: "open_tree", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// SetAttr sets attribute bits on a mount, and on everything below it if recursive.
func SetAttr(fd int, recursive bool, set int) error {
	flags := uint(unix.AT_EMPTY_PATH)
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	attr := unix.MountAttr{Attr_set: uint64(set)}
	if err := unix.MountSetattr(fd, "", flags, &attr); err != nil {
		return os.NewSyscallError("mount_setattr", err)
	}
	return nil
}

// IDMap gives a detached mount the id mapping of a user namespace. Only for a
// mount nobody else has seen, and as real root for host filesystems.
func IDMap(fd int, recursive bool, userns int) error {
	flags := uint(unix.AT_EMPTY_PATH)
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(userns)}
	if err := unix.MountSetattr(fd, "", flags, &attr); err != nil {
		return os.NewSyscallError("mount_setattr idmap", err)
	}
	return nil
}

// Attach puts a detached mount on the place dst refers to.
func Attach(mnt, dst int) error {
	err := unix.MoveMount(mnt, "", dst, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	return os.NewSyscallError("move_mount", err)
}

// FDPath is a path that leads to an open descriptor; it needs no quoting
// whatever characters the real path has.
func FDPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// Classic makes a filesystem with mount(2) for kernels whose new API lacks an
// option. It is attached for a moment, on the directory at was opened by, in the
// caller's own private mount namespace, and comes back detached. In data the
// number of a descriptor is a path that leads to it: all options have to fit
// into one page, and 500 layers only do by their shortest names.
func Classic(fstype, data string, attrs int, at *os.File) (*os.File, error) {
	type result struct {
		f   *os.File
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // for good: this thread's current directory is not the process's
		f, err := classicThere(fstype, data, attrs, at)
		done <- result{f, err}
	}()
	r := <-done
	return r.f, r.err
}

func classicThere(fstype, data string, attrs int, at *os.File) (*os.File, error) {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return nil, os.NewSyscallError("unshare fs", err)
	}
	if err := unix.Chdir("/proc/self/fd"); err != nil {
		return nil, os.NewSyscallError("chdir", err)
	}
	where := at.Name() // by path: a descriptor's link leads below what is mounted there
	if err := unix.Mount(fstype, where, fstype, 0, data); err != nil {
		return nil, &os.PathError{Op: "mount " + fstype, Path: data, Err: err}
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, where, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	_ = unix.Unmount(where, unix.MNT_DETACH) // the clone, if we have one, keeps it
	if err != nil {
		return nil, os.NewSyscallError("open_tree", err)
	}
	f := os.NewFile(uintptr(fd), fstype)
	if err := SetAttr(fd, false, attrs); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Whiteout makes the mark by which an overlay layer hides what is below. Only
// real root can make it in this form.
func Whiteout(path string) error {
	if err := unix.Mknod(path, unix.S_IFCHR, 0); err != nil {
		return &os.PathError{Op: "whiteout", Path: path, Err: err}
	}
	return nil
}

// Below finds a mount point below a directory, empty when there is none or the
// directory has no path.
func Below(dir string) string {
	if !strings.HasPrefix(dir, "/") {
		return ""
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(b), "\n") {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], strings.TrimSuffix(dir, "/")+"/") {
			return f[4]
		}
	}
	return ""
}
