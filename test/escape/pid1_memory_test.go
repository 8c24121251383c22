package escape

import "golang.org/x/sys/unix"

func pid1Memory() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-memory",
		Attack: "copy PID 1's memory with process_vm_readv and process_vm_writev",
		Proves: "PID 1's memory can be neither read nor changed",
		Run: func() error {
			var a attempts
			a.try("read", copyMemory(unix.SYS_PROCESS_VM_READV, 1))
			// Writing to read-only text is EFAULT, after the permission was given.
			a.try("write", reached(copyMemory(unix.SYS_PROCESS_VM_WRITEV, 1), unix.EFAULT))
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"process_vm_readv", "process_vm_writev"},
		Second: "dumpable and bounding: PID 1 is not traceable", SecondErrno: errnos(unix.EPERM),
		Both: []string{"dumpable", "bounding"},
	}
}

// goText is where Go's linker puts the first page of a static program.
const goText = 0x400000

func copyMemory(number uintptr, pid int) error {
	var b [8]byte
	local := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	remote := unix.RemoteIovec{Base: goText, Len: len(b)}
	return call(number, uintptr(pid), pointer(&local), 1, pointer(&remote), 1, 0)
}
