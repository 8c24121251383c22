package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

func procSys() attack {
	return attack{
		Class: kernelClass, Name: "proc-sys",
		Attack: "change settings in /proc/sys that the kernel would let a namespace's owner change",
		Proves: "/proc/sys is read-only even where the user namespace would allow writing",
		Run: func() error {
			var a attempts
			for _, p := range []string{"/proc/sys/kernel/shmmax", "/proc/sys/fs/mqueue/msg_max"} {
				f, err := os.OpenFile(p, os.O_WRONLY, 0)
				if err == nil {
					err = f.Close()
				}
				a.try(p, err)
			}
			return a.result()
		},
		Denied: errnos(unix.EROFS),
		Fence:  []string{"mask"},
	}
}
