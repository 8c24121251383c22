package probe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mounts tries everything that one child in a mount namespace can: root as the daemon
// of root would, everybody else in a user namespace.
func (h *host) mounts(ctx context.Context) []Check {
	checks := []Check{
		{Name: "overlayfs", Required: true, Detail: "overlay mounts work", Hint: "sudo modprobe overlay"},
		{Name: "overlay-home", Required: true, Detail: "overlay mounts work with their upper layer in the home"},
		{Name: "mount-api", Required: true, Detail: "fsopen, fsmount, move_mount, open_tree and mount_setattr work", Hint: outerFilter},
		{Name: "idmapped-mounts", Detail: "files can be shown to a sandbox under other owners"},
	}
	dir, attempts, err := h.tryMounts(ctx)
	for i, c := range checks {
		checks[i] = h.judgeMount(c, attempts, err)
	}
	if !checks[1].OK && checks[0].OK {
		checks[1].Hint = overlayHomeHint(dir)
	}
	if !h.realRoot() {
		checks[3] = Check{
			Name: "idmapped-mounts", Detail: "only root can map the owners of the host's files",
			Hint: "not needed as an ordinary user; files of the host image that are edited in place need it",
		}
	}
	return checks
}

// tryMounts returns where it tried beside what came of it.
func (h *host) tryMounts(ctx context.Context) (string, map[string]attempt, error) {
	// For root too: what refuses a user namespace (a chroot, a filter) spoils the mounts,
	// and one cause deserves one hint.
	if !h.usable.OK {
		return "", nil, errNeedsUserns
	}
	above := existing(h.home)
	dir, err := os.MkdirTemp(above, ".coop-probe-")
	if err != nil {
		// The home check reports this one; the kernel's abilities are still asked.
		dir = ""
	}
	defer remove(dir)
	if h.realRoot() {
		attempts, err := tryIn(ctx, unix.CLONE_NEWNS, "mounts", dir, "redirect_dir=on")
		return above, attempts, err
	}
	attempts, err := tryIn(ctx, unix.CLONE_NEWNS|unix.CLONE_NEWUSER, "mounts", dir, "userxattr")
	return above, attempts, err
}

func (h *host) judgeMount(c Check, attempts map[string]attempt, err error) Check {
	if err == errNeedsUserns {
		c, _ = h.blocked(c)
		return c
	}
	step := "probing child"
	if err == nil {
		step, err = attemptError(attempts, c.Name)
	}
	if err != nil {
		c.Detail = refused(step, err)
		if c.Hint == "" {
			c.Hint = "use a later kernel, or a filesystem that supports it for COOP_HOME"
		}
		return c
	}
	c.OK, c.Hint = true, ""
	return c
}

// overlayHomeHint knows the filesystems that are refused for an upper layer.
func overlayHomeHint(dir string) string {
	const advice = "set COOP_HOME to a directory on ext4, xfs, btrfs or tmpfs"
	switch kind := filesystem(dir); kind {
	case "overlay":
		return "the home is itself on an overlay, as in a container: mount a volume for it, or " + advice
	case "nfs", "cifs", "fuse", "vfat":
		return fmt.Sprintf("the home is on %s, which cannot hold an upper layer: %s", kind, advice)
	}
	return advice
}

// remove takes away what was tried in. Overlayfs leaves a directory behind that
// even its owner cannot look into.
func remove(dir string) {
	if dir == "" {
		return
	}
	_ = os.Chmod(filepath.Join(dir, "work", "work"), 0o700) // not there when the mount was refused
	_ = os.RemoveAll(dir)                                   // a leftover does no harm
}

// existing is the nearest directory at or above path: trying must not make the home.
func existing(path string) string {
	for path != "" && path != "/" && path != "." {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		path = filepath.Dir(path)
	}
	return "/"
}
