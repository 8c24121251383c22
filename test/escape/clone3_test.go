package escape

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

func clone3() attack {
	return attack{
		Class: kernelClass, Name: "clone3",
		Attack: "make a user namespace with clone3, whose flags no filter can see",
		Proves: "clone3 does not exist for programs",
		Run: func() error {
			return cloneInto(unix.CLONE_NEWUSER)
		},
		Denied: errnos(unix.ENOSYS),
		Fence:  []string{"clone3"},
		CVE:    "CVE-2022-0185",
	}
}

// cloneInto makes a child that ends at once. CLONE_VFORK keeps us from running
// beside it.
func cloneInto(flags uint64) error {
	args := struct{ flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64 }{
		flags: flags | unix.CLONE_VFORK, exitSignal: uint64(unix.SIGCHLD),
	}
	runtime.LockOSThread()
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != 0 {
		return fmt.Errorf("clone3: %w", errno)
	}
	if pid == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0) // does not return
	}
	_, err := unix.Wait4(int(pid), nil, unix.WALL, nil)
	return err
}
