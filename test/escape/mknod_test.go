package escape

import "golang.org/x/sys/unix"

func mknod() attack {
	return attack{
		Class: kernelClass, Name: "mknod",
		Attack: "make device nodes",
		Proves: "there is no device but those given",
		Run: func() error {
			var a attempts
			a.try("null", unix.Mknod("/tmp/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
			a.try("disk", unix.Mknod("/tmp/disk", unix.S_IFBLK|0o666, int(unix.Mkdev(8, 0))))
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"mknod", "mknodat", "bounding"},
		Second: "user namespace: needs CAP_MKNOD in the initial one", SecondErrno: errnos(unix.EPERM),
	}
}
