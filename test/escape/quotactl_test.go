package escape

import "golang.org/x/sys/unix"

func quotactl() attack {
	return attack{
		Class: kernelClass, Name: "quotactl",
		Attack: "manage disk quotas",
		Proves: "quotactl is closed",
		Run: func() error {
			const getFormat = 0x800004 << 8
			var b [64]byte
			// Not a block device: the kernel looked.
			return reached(call(unix.SYS_QUOTACTL, getFormat, pointer(text("/dev/null")), 0, pointer(&b)), unix.ENOTBLK)
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"quotactl"},
	}
}
