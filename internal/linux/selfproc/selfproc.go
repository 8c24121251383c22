// Package selfproc changes things about the process itself that the standard
// library has no words for.
package selfproc

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// CloseOnExec keeps descriptors from first up out of everything we start: the
// shell that started us may have left any open.
func CloseOnExec(first int) error {
	return os.NewSyscallError("close_range", unix.CloseRange(uint(first), ^uint(0), unix.CLOSE_RANGE_CLOEXEC))
}

// NewKeyring leaves the login session's kernel keyring behind, for this thread
// and what it starts or executes. The caller must hold its thread. Without
// keyrings in the kernel there is nothing to leave.
func NewKeyring() error {
	_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)
	if err == unix.ENOSYS || err == unix.EPERM {
		return nil // refused by an outer sandbox's filter, which refuses ours too
	}
	return os.NewSyscallError("keyctl", err)
}

// PrivateMounts executes a program again in a mount namespace of its own. It
// returns only on error: an exec takes the namespace of the thread that calls.
func PrivateMounts(argv, env []string) error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare mount namespace", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return os.NewSyscallError("make mounts private", err)
	}
	return os.NewSyscallError("exec", unix.Exec("/proc/self/exe", argv, env))
}

// Inherit lets a descriptor survive an exec.
func Inherit(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0)
	return os.NewSyscallError("fcntl", err)
}

// SetName gives the process the name that ps and top show. One executed by
// descriptor would otherwise be called after the descriptor's number.
func SetName(name string) error {
	return os.WriteFile("/proc/self/comm", []byte(name), 0)
}

// Umask sets the file mode creation mask.
func Umask(mask int) { unix.Umask(mask) }

// Lock takes an exclusive lock on an open file. Without wait a lock held by
// somebody else is unix.EWOULDBLOCK, which Held recognises.
func Lock(f *os.File, wait bool) error {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

// Held reports whether a lock failed because somebody else has it.
func Held(err error) bool { return err == unix.EWOULDBLOCK }
