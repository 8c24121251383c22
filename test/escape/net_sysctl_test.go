package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

func netSysctl() attack {
	return attack{
		Class: kernelClass, Name: "net-sysctl",
		Attack: "change network settings in /proc/sys/net",
		Proves: "/proc/sys is read-only, and programs do not administer the network",
		Run: func() error {
			f, err := os.OpenFile("/proc/sys/net/ipv4/ip_forward", os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			return f.Close()
		},
		Denied: errnos(unix.EROFS, unix.EACCES),
		Fence:  []string{"mask"},
		Second: "bounding: programs lack CAP_NET_ADMIN", SecondErrno: errnos(unix.EACCES),
		Both: []string{"bounding"},
	}
}
