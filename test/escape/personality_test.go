package escape

import (
	"golang.org/x/sys/unix"
)

func personality() attack {
	return attack{
		Class: kernelClass, Name: "personality",
		Attack: "switch address randomisation off with personality",
		Proves: "exploits do not get an easier address space",
		Run: func() error {
			const noRandomize = 0x40000
			return call(unix.SYS_PERSONALITY, noRandomize)
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"personality"},
	}
}
