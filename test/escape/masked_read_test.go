package escape

import "golang.org/x/sys/unix"

func maskedRead() attack {
	return attack{
		Class: runtimeClass, Name: "masked-read", CVE: "CVE-2025-31133",
		Attack: "read the parts of /proc that tell of the host: interrupts, keys, key users",
		Proves: "masked files show nothing",
		Run: func() error {
			var a attempts
			for _, p := range []string{"/proc/interrupts", "/proc/key-users"} {
				a.try(p, read(p))
			}
			return a.result()
		},
		Denied: errnos(unix.ENODATA),
		Fence:  []string{"mask"},
	}
}
