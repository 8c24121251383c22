package layerdir

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// futimens is utimensat(2) without a path, which x/sys has no wrapper for.
func futimens(fd int, ts *[2]unix.Timespec) error {
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(ts)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
