package escape

import (
	"golang.org/x/sys/unix"
)

func regainCapability() attack {
	return attack{
		Class: idsClass, Name: "regain-capability",
		Attack: "raise CAP_SYS_ADMIN again with capset and as an ambient capability",
		Proves: "a capability that is gone stays gone",
		Run: func() error {
			var a attempts
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var data [2]unix.CapUserData
			if err := unix.Capget(&header, &data[0]); err != nil {
				return err
			}
			const bit = 1 << unix.CAP_SYS_ADMIN
			data[0].Permitted |= bit
			data[0].Effective |= bit
			data[0].Inheritable |= bit
			a.try("capset", unix.Capset(&header, &data[0]))
			a.try("ambient", unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_SYS_ADMIN, 0, 0))
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"bounding"},
	}
}
