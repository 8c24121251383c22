package escape

import (
	"golang.org/x/sys/unix"
)

func openByHandle() attack {
	return attack{
		Class: kernelClass, Name: "open-by-handle",
		Attack: "open a file outside the root by its handle (the Shocker attack)",
		Proves: "files are reached by path only",
		Run: func() error {
			// The root inode of ext4; nothing with that handle is on a tmpfs.
			handle := unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0})
			dir, err := unix.Open("/usr", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"open_by_handle_at"},
		Second: "user namespace: needs CAP_DAC_READ_SEARCH in the initial one", SecondErrno: errnos(unix.EPERM),
		CVE: "CVE-2014-3519",
	}
}
