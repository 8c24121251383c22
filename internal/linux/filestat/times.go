package filestat

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SetTimes sets access and modification time of an open file: utimensat(2)
// without a path, which x/sys has no function for.
func SetTimes(fd int, ts *[2]unix.Timespec) error {
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(ts)), 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("utimensat", errno)
	}
	return nil
}
