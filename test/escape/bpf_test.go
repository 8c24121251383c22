package escape

import (
	"golang.org/x/sys/unix"
)

func bpf() attack {
	return attack{
		Class: kernelClass, Name: "bpf",
		Attack: "use the bpf system call",
		Proves: "no eBPF, the source of many kernel bugs",
		Run: func() error {
			attr := [128]byte{0: 0xff, 1: 0xff, 2: 0xff, 3: 0xff}
			// A map that is not there: EBADF comes from the bpf code itself.
			const lookup = 1
			return reached(call(unix.SYS_BPF, lookup, pointer(&attr), 32), unix.EBADF)
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"bpf"},
	}
}
