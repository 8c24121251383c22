package pid1

import (
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/mount"
)

// attachFor attaches a mount that may lie in the user's home. Who the user is and
// where that home lies only the image knows, so PID 1 finds out, by the same rule
// that gives programs their HOME.
func (b *builder) attachFor(fd int, m initproto.Mount) error {
	if !m.Own && !strings.HasPrefix(m.Target, "~") {
		return b.attach(fd, m.Target)
	}
	cred, home := b.user()
	target := m.Target
	if rest, ok := strings.CutPrefix(target, "~"); ok {
		target = path.Join(home, rest)
		if forbidden(target) {
			return unix.EPERM // an /etc/passwd from inside must not choose what is covered
		}
	}
	dst, err := makeTarget(b.root, target, isDir(fd), func(at int, name string) {
		if cred.Uid != 0 && strings.HasPrefix(m.Target, "~") {
			// An id that is not mapped here cannot run programs either.
			_ = unix.Fchownat(at, name, int(cred.Uid), int(cred.Gid), unix.AT_SYMLINK_NOFOLLOW)
		}
	})
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	if err := mount.Attach(fd, dst); err != nil || !m.Own {
		return err
	}
	return giveTop(fd, cred)
}

// forbidden are the places whose content the kernel, not the image, decides.
func forbidden(target string) bool {
	top, _, _ := strings.Cut(strings.Trim(path.Clean("/"+target), "/"), "/")
	return slices.Contains([]string{"", "proc", "sys", "dev"}, top)
}

// user finds the sandbox's user in the new root, before it is the root. One that
// is not there yet has the home it will have.
func (b *builder) user() (*syscall.Credential, string) {
	if b.setup.User == "" {
		return &syscall.Credential{}, "/root"
	}
	cred, home, _, err := resolveIn(b.setup.User, func() string {
		return readFile(unix.Openat2(b.root, "etc/passwd", &unix.OpenHow{
			Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY,
			Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
		}))
	})
	if err != nil {
		name, _, _ := strings.Cut(b.setup.User, ":")
		return &syscall.Credential{}, "/home/" + name
	}
	return cred, home
}

// giveTop gives the top directory of a mount to the user, unless somebody has it.
func giveTop(fd int, cred *syscall.Credential) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if cred.Uid == 0 || st.Uid != 0 {
		return nil
	}
	err := unix.Fchownat(fd, "", int(cred.Uid), int(cred.Gid), unix.AT_EMPTY_PATH)
	if err == unix.EINVAL { // an id that is not mapped here: nothing can run as it
		return nil
	}
	return err
}
