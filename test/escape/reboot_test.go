package escape

import (
	"golang.org/x/sys/unix"
)

func reboot() attack {
	return attack{
		Class: kernelClass, Name: "reboot",
		Attack: "reboot",
		Proves: "not even the sandbox can be rebooted",
		Run: func() error {
			// Turning Ctrl+Alt+Del on is EINVAL in a pid namespace, after the permission was given.
			return reached(unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_ON), unix.EINVAL)
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"reboot"},
		Second: "bounding: programs lack the capability", SecondErrno: errnos(unix.EPERM),
		Both: []string{"bounding"},
	}
}
