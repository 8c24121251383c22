package escape

import (
	"golang.org/x/sys/unix"
)

func nameToHandle() attack {
	return attack{
		Class: kernelClass, Name: "name-to-handle",
		Attack: "ask for a file handle",
		Proves: "no handles to guess from",
		Run: func() error {
			_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/tmp", 0)
			return err
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"name_to_handle_at"},
	}
}
