// Package pty holds the system calls of pseudo terminals: opening one in a given
// devpts, its window size and its owner. It knows nothing of who runs on it.
package pty

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrForeign says that what was opened is not the multiplexer of a devpts.
var ErrForeign = errors.New("not a terminal multiplexer")

// Open makes a new pair with the multiplexer at path. Both are close-on-exec,
// neither becomes anybody's controlling terminal, and the master does not block.
//
// The path is one inside a sandbox: links are refused and what is found is
// looked at, because a program may have put anything in its place.
func Open(path string) (master, slave int, err error) {
	master, err = unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_NONBLOCK,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, -1, os.NewSyscallError("openat2", err)
	}
	if slave, err = peer(master); err != nil {
		unix.Close(master)
		return -1, -1, err
	}
	return master, slave, nil
}

// peer unlocks the other end and opens it through the master itself: its name
// could lead elsewhere (TIOCGPTPEER in ioctl_tty(2)).
func peer(master int) (int, error) {
	if err := isMultiplexer(master); err != nil {
		return -1, err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, os.NewSyscallError("TIOCSPTLCK", err)
	}
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return -1, os.NewSyscallError("TIOCGPTPEER", errno)
	}
	return int(slave), nil
}

func isMultiplexer(fd int) error {
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Fstatfs(fd, &fs)); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != unix.Mkdev(5, 2) || int64(fs.Type) != unix.DEVPTS_SUPER_MAGIC {
		return ErrForeign
	}
	return nil
}

// SetSize sets the window size; programs on the terminal are told (SIGWINCH).
func SetSize(fd, cols, rows int) error {
	ws := unix.Winsize{Col: uint16(cols), Row: uint16(rows)}
	return os.NewSyscallError("TIOCSWINSZ", unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &ws))
}

// Resize is SetSize for a file that somebody else may close.
func Resize(f *os.File, cols, rows int) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var ierr error
	if err := rc.Control(func(fd uintptr) { ierr = SetSize(int(fd), cols, rows) }); err != nil {
		return err
	}
	return ierr
}

// Size gives the window size.
func Size(fd int) (cols, rows int, err error) {
	ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, os.NewSyscallError("TIOCGWINSZ", err)
	}
	return int(ws.Col), int(ws.Row), nil
}

// tty is the group that owns terminals on every Linux distribution, so that
// write(1) and wall(1), which are setgid tty, can reach them.
const tty = 5

// Give makes a slave the terminal of a user, as login does. Where the group tty
// has no id in this user namespace the user's own group gets no access instead.
func Give(slave int, uid, gid uint32) error {
	err := unix.Fchown(slave, int(uid), tty)
	mode := uint32(0o620)
	if err == unix.EINVAL {
		err, mode = unix.Fchown(slave, int(uid), int(gid)), 0o600
	}
	if err != nil {
		return os.NewSyscallError("fchown", err)
	}
	return os.NewSyscallError("fchmod", unix.Fchmod(slave, mode))
}
