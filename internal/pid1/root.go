package pid1

import (
	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/mount"
)

// private cuts this mount namespace off from the daemon's.
func (b *builder) private() error {
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// attachRoot puts the new root on top of the old one. "/" is the one directory
// every sandbox can reach; paths keep leading to the old root until pivot.
func (b *builder) attachRoot() error {
	fd, err := b.fd(b.setup.Root)
	if err != nil {
		return err
	}
	slash, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(slash)
	if err := mount.Attach(fd, slash); err != nil {
		return err
	}
	b.root, err = unix.Openat(fd, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return err
}

// attachMounts puts the workspace and the image's other parts in place, in the
// order given.
func (b *builder) attachMounts() error {
	for _, m := range b.setup.Mounts {
		fd, err := b.fd(m.FD)
		if err != nil {
			return err
		}
		if m.ReadOnly || (m.Root && b.setup.ReadonlyRoot) {
			if err := mount.SetAttr(fd, true, mount.ReadOnly); err != nil {
				return fail("read-only", m.Target, err)
			}
		}
		if err := b.attachFor(fd, m); err != nil {
			return fail("attach", m.Target, err)
		}
	}
	return nil
}

// attach puts a mount on a directory or file beneath the new root.
func (b *builder) attach(fd int, target string) error {
	dst, err := mountTarget(b.root, target, isDir(fd))
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	return mount.Attach(fd, dst)
}

func isDir(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// pivot makes the new root the root and lets go of the old one. With both
// arguments "." the old root ends up on top of the new one, where one umount
// reaches it without a directory made for the purpose.
func (b *builder) pivot() error {
	if err := unix.Fchdir(b.root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fail("detach old root", "", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	// A sandbox's mounts go nowhere and come from nowhere.
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

func (b *builder) readonlyRoot() error {
	defer unix.Close(b.root)
	if !b.setup.ReadonlyRoot {
		return nil
	}
	return mount.SetAttr(b.root, false, mount.ReadOnly)
}
