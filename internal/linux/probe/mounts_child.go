package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

var errNeedsUserns = errors.New("needs a user namespace")

// childMounts runs in a mount namespace of its own: whatever it mounts ends with it.
// Its arguments are a directory in the home, or "" if there is none, and the option
// that an overlay needs here.
func childMounts(args []string) []attempt {
	if len(args) != 2 {
		return nil
	}
	home, option := args[0], args[1]
	if err := privateMounts(); err != nil {
		return []attempt{result("overlayfs", "make mounts private", err)}
	}
	attempts := []attempt{overlayHome(home, option), mountAPI(), idmapped(home)}
	// Last, because it covers /proc.
	return append(attempts, overlayTmpfs(option))
}

// cover is where things are mounted to try: the one directory that is surely there,
// since this binary was executed through it.
const cover = "/proc"

func overlayTmpfs(option string) attempt {
	if err := unix.Mount("tmpfs", cover, "tmpfs", 0, "mode=700"); err != nil {
		return result("overlayfs", "mount a tmpfs", err)
	}
	step, err := overlay(cover, option)
	return result("overlayfs", step, err)
}

func overlayHome(home, option string) attempt {
	if home == "" {
		return result("overlay-home", "make a directory in the home", unix.EACCES)
	}
	step, err := overlay(home, option)
	return result("overlay-home", step, err)
}

// overlay mounts one below dir, and copies a file up and removes another: some
// filesystems take the mount and refuse that.
func overlay(dir, option string) (step string, err error) {
	names := map[string]string{}
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		names[name] = filepath.Join(dir, name)
		if err := os.Mkdir(names[name], 0o700); err != nil {
			return "mkdir", err
		}
	}
	for _, name := range []string{"changed", "removed"} {
		if err := os.WriteFile(filepath.Join(names["lower"], name), []byte("x"), 0o600); err != nil {
			return "write a file", err
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,%s", names["lower"], names["upper"], names["work"], option)
	if err := unix.Mount("overlay", names["merged"], "overlay", 0, options); err != nil {
		return "mount an overlay", err
	}
	defer func() { _ = unix.Unmount(names["merged"], unix.MNT_DETACH) }() // ends with the namespace anyway
	if err := os.WriteFile(filepath.Join(names["merged"], "changed"), []byte("y"), 0o600); err != nil {
		return "copy a file up in an overlay", err
	}
	return "remove a file in an overlay", os.Remove(filepath.Join(names["merged"], "removed"))
}

// mountAPI goes once through the calls that build a sandbox's root.
func mountAPI() attempt {
	const name = "mount-api"
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return result(name, "fsopen", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return result(name, "fsconfig", err)
	}
	mnt, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return result(name, "fsmount", err)
	}
	defer unix.Close(mnt)
	if err := unix.MoveMount(mnt, "", unix.AT_FDCWD, cover, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return result(name, "move_mount", err)
	}
	defer func() { _ = unix.Unmount(cover, unix.MNT_DETACH) }() // ends with the namespace anyway
	tree, err := unix.OpenTree(unix.AT_FDCWD, cover, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return result(name, "open_tree", err)
	}
	defer unix.Close(tree)
	readOnly := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, readOnly)
	return result(name, "mount_setattr", err)
}

// idmapped shows the home under other owners, as root does with the host's files.
func idmapped(home string) attempt {
	const name = "idmapped-mounts"
	if os.Geteuid() != 0 || home == "" {
		return result(name, "mount_setattr(MOUNT_ATTR_IDMAP)", unix.EPERM)
	}
	ns, err := otherUserns()
	if err != nil {
		return result(name, "make a user namespace", err)
	}
	defer ns.Close()
	tree, err := unix.OpenTree(unix.AT_FDCWD, home, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return result(name, "open_tree", err)
	}
	defer unix.Close(tree)
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(ns.Fd())}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, attr)
	return result(name, "mount_setattr(MOUNT_ATTR_IDMAP)", err)
}

// otherUserns returns a user namespace that maps 0 to another id. A process must be in
// it while it is opened: one that waits for the end of its input.
func otherUserns() (*os.File, error) {
	cmd := exec.Command("/proc/self/exe", childArg, "hold")
	shift := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 524288, Size: 65536}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: shift, GidMappings: shift}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	_ = stdin.Close() // lets it go
	_ = cmd.Wait()    // how it ends does not matter
	return ns, err
}

// childHold waits until its parent closes the pipe.
func childHold() { _, _ = os.Stdin.Read(make([]byte, 1)) }
