package pid1

import (
	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/mount"
)

// openInside opens a path as the sandbox sees it. Links stay inside our root,
// magic links are refused, and nothing blocks: a fifo without a writer opens at
// once.
func openInside(path string, flags int, mode uint32) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   uint64(flags) | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY,
		Mode:    uint64(mode),
		Resolve: unix.RESOLVE_NO_MAGICLINKS,
	})
}

// open answers the daemon's request for a file.
func (in *Init) open(o initproto.Open) (int, error) {
	if o.Kept {
		fd, err := unix.FcntlInt(uintptr(in.kept), unix.F_DUPFD_CLOEXEC, 0)
		return fd, fail("kept", "", err)
	}
	mode := o.Mode & 0o777
	if o.Flags&(unix.O_CREAT|unix.O_TMPFILE) == 0 {
		mode = 0
	}
	fd, err := openInside(o.Path, o.Flags, mode)
	return fd, fail("open", o.Path, err)
}

// keep takes the descriptor that shall outlive the set-up.
func keep(s initproto.Setup, fds []int) (int, error) {
	if s.Keep <= 0 {
		return -1, nil
	}
	if s.Keep >= len(fds) {
		return -1, initproto.ErrProtocol
	}
	return unix.FcntlInt(uintptr(fds[s.Keep]), unix.F_DUPFD_CLOEXEC, 0)
}

// attachMount puts a detached mount into the running sandbox.
func (in *Init) attachMount(m initproto.Mount, fd int) error {
	if m.ReadOnly {
		if err := mount.SetAttr(fd, true, mount.ReadOnly); err != nil {
			return fail("read-only", m.Target, err)
		}
	}
	slash, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	b := &builder{root: slash}
	defer unix.Close(slash)
	return fail("attach", m.Target, b.attach(fd, m.Target))
}
