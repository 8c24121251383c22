package escape

import "golang.org/x/sys/unix"

func maskedRead() attack {
	return attack{
		Class: runtimeClass, Name: "masked-read", CVE: "CVE-2025-31133",
		Attack: "read what /proc tells of the whole host, such as its interrupts",
		Proves: "masked files show nothing",
		Run: func() error {
			return read("/proc/interrupts")
		},
		Denied: errnos(unix.ENODATA),
		Fence:  []string{"mask"},
	}
}
