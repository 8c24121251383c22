package escape

import (
	"golang.org/x/sys/unix"
)

func netlink() attack {
	return attack{
		Class: kernelClass, Name: "netlink",
		Attack: "open netlink sockets of nftables, audit, generic and xfrm families",
		Proves: "only the family that lists interfaces is open",
		Run: func() error {
			var a attempts
			for name, proto := range map[string]int{
				"netfilter": unix.NETLINK_NETFILTER, "generic": unix.NETLINK_GENERIC, "uevent": unix.NETLINK_KOBJECT_UEVENT,
			} {
				fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, proto)
				a.try(name, err)
				unix.Close(fd)
			}
			return a.result()
		},
		Denied: errnos(unix.EAFNOSUPPORT),
		Fence:  []string{"socket"},
		CVE:    "CVE-2022-32250",
	}
}
