package escape

import (
	"net"

	"golang.org/x/sys/unix"
)

func interfaces() attack {
	return attack{
		Class: ipcClass, Name: "interfaces",
		Attack: "find a network interface other than loopback with network none",
		Proves: "there is no way out on the network",
		Run: func() error {
			list, err := net.Interfaces()
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return refused(unix.EINVAL, "not even loopback")
			}
			for _, i := range list {
				if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
					return nil
				}
			}
			return refused(unix.ENODEV, "only %d loopback interface", len(list))
		},
		Denied: errnos(unix.ENODEV),
		Open:   []string{"--network", "host"},
	}
}
