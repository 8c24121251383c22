package escape

import (
	"golang.org/x/sys/unix"
)

func mountAPI() attack {
	return attack{
		Class: kernelClass, Name: "mount",
		Attack: "mount with the old interface and the new one",
		Proves: "the tree of mounts is fixed",
		Run: func() error {
			var a attempts
			a.try("mount", unix.Mount("none", "/mnt", "tmpfs", 0, ""))
			a.try("remount", unix.Mount("none", "/tmp", "", unix.MS_REMOUNT|unix.MS_BIND, ""))
			fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
			a.try("fsopen", err)
			a.try("fsconfig", unix.FsconfigCreate(fd))
			_, err = unix.Fsmount(fd, 0, 0)
			a.try("fsmount", err)
			_, err = unix.Fspick(unix.AT_FDCWD, "/tmp", 0)
			a.try("fspick", err)
			tree, err := unix.OpenTree(unix.AT_FDCWD, "/tmp", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
			a.try("open_tree", err)
			a.try("move_mount", unix.MoveMount(tree, "", unix.AT_FDCWD, "/srv", unix.MOVE_MOUNT_F_EMPTY_PATH))
			a.try("mount_setattr", unix.MountSetattr(unix.AT_FDCWD, "/tmp", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_NOSUID}))
			a.try("umount", unix.Unmount("/mnt", unix.MNT_DETACH))
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"mount", "umount2", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "move_mount", "mount_setattr"},
		Second: "bounding: programs lack the capability", SecondErrno: errnos(unix.EPERM, unix.EBADF, unix.EINVAL),
		Both: []string{"bounding"},
	}
}
