package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// minFreeBytes is room for a few sandboxes without an image.
const minFreeBytes = 256 << 20

// homeDir examines COOP_HOME, or where it would be made.
func (h *host) homeDir(context.Context) Check {
	c := Check{Name: "home", Required: true}
	if h.home == "" {
		c.Detail, c.Hint = "no home directory is known", "set COOP_HOME, or HOME"
		return c
	}
	detail, hint := h.homeProblem()
	if detail != "" {
		c.Detail, c.Hint = detail, hint
		return c
	}
	return h.homeSpace(c)
}

// homeProblem says what is wrong with the directory itself.
func (h *host) homeProblem() (detail, hint string) {
	above := existing(h.home)
	info, err := os.Stat(h.home)
	if errors.Is(err, fs.ErrNotExist) {
		if err := writable(above); err != nil {
			return fmt.Sprintf("%s cannot be made in %s: %v", h.home, above, err), "set COOP_HOME to a directory of your own"
		}
		return "", ""
	}
	if err != nil {
		return err.Error(), "set COOP_HOME to a directory of your own"
	}
	if !info.IsDir() {
		return fmt.Sprintf("%s is not a directory", h.home), "set COOP_HOME to a directory"
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != h.uid {
		return fmt.Sprintf("%s belongs to uid %d, not to %d", h.home, st.Uid, h.uid), "set COOP_HOME to a directory of your own"
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Sprintf("%s has mode %04o, so others can reach the sandboxes' files", h.home, mode), "chmod 700 " + h.home
	}
	if err := writable(h.home); err != nil {
		return fmt.Sprintf("%s is not writable: %v", h.home, err), "chmod 700 it, or set COOP_HOME to a directory that is writable"
	}
	return "", ""
}

func (h *host) homeSpace(c Check) Check {
	above := existing(h.home)
	var st unix.Statfs_t
	if err := unix.Statfs(above, &st); err != nil {
		c.Detail, c.Hint = refused("statfs "+above, err), "set COOP_HOME to another directory"
		return c
	}
	free := int64(st.Bavail) * st.Bsize
	c.OK = free >= minFreeBytes
	c.Detail = fmt.Sprintf("%s on %s, %.1f GiB free", h.home, filesystem(above), float64(free)/(1<<30))
	if !c.OK {
		c.Hint = "free some space, or set COOP_HOME to a larger filesystem"
	}
	return c
}

func writable(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}

// filesystem names the filesystem of path, as mount(8) does where it is a usual one.
func filesystem(path string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return "unknown"
	}
	names := map[int64]string{
		unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs", unix.EXT4_SUPER_MAGIC: "ext4",
		unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs",
		unix.F2FS_SUPER_MAGIC: "f2fs", unix.FUSE_SUPER_MAGIC: "fuse", unix.MSDOS_SUPER_MAGIC: "vfat",
		unix.CIFS_SUPER_MAGIC: "cifs", 0x2fc12fc1: "zfs",
	}
	// Through uint32: some magics are negative where the field is 32 bits wide.
	if name, ok := names[int64(uint32(st.Type))]; ok {
		return name
	}
	return fmt.Sprintf("filesystem %#x", uint32(st.Type))
}
