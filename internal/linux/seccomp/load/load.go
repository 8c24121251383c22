// Package load installs compiled seccomp filters. It owns one system call and
// knows nothing about profiles, so that PID 1 stays small.
package load

import (
	"encoding/binary"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	instructionSize = 8
	maxInstructions = 4096 // BPF_MAXINSNS
)

// Install puts the filter that seccomp.Compile made on the calling thread, for
// good, and on whatever that thread starts from then on. Other threads of the
// process are not filtered, so the caller must be locked to its thread. It must
// also have set no_new_privs: without that the kernel answers EACCES, or, to a
// caller with CAP_SYS_ADMIN, accepts a filter that setuid programs then inherit.
//
// An empty program is an error: "no filter" is the caller's decision to make.
func Install(prog []byte) error {
	filter, ok := decode(prog)
	if !ok {
		return os.NewSyscallError("seccomp", unix.EINVAL)
	}
	fprog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}

// decode copies because the bytes come from a socket buffer, at any alignment.
func decode(prog []byte) ([]unix.SockFilter, bool) {
	if len(prog) == 0 || len(prog)%instructionSize != 0 || len(prog) > maxInstructions*instructionSize {
		return nil, false
	}
	filter := make([]unix.SockFilter, len(prog)/instructionSize)
	for i := range filter {
		in := prog[i*instructionSize:]
		filter[i] = unix.SockFilter{
			Code: binary.LittleEndian.Uint16(in),
			Jt:   in[2],
			Jf:   in[3],
			K:    binary.LittleEndian.Uint32(in[4:]),
		}
	}
	return filter, true
}
