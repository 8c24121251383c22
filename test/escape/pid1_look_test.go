package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

func pid1Look() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-look",
		Attack: "look into PID 1 through /proc/1: memory, maps, environment, descriptors, root, namespaces",
		Proves: "PID 1 shows a program nothing of itself",
		Run: func() error {
			var a attempts
			for _, name := range []string{"maps", "environ", "auxv", "io", "personality", "smaps"} {
				a.try(name, read("/proc/1/"+name))
			}
			for _, name := range []string{"mem", "pagemap"} {
				a.try(name, open("/proc/1/"+name))
			}
			for _, name := range []string{"fdinfo", "map_files", "root/", "cwd/"} {
				_, err := os.ReadDir("/proc/1/" + name)
				a.try(name, err)
			}
			for _, name := range []string{"root", "cwd", "exe", "fd/0", "ns/mnt", "ns/user"} {
				_, err := os.Readlink("/proc/1/" + name)
				a.try(name+" link", err)
			}
			return a.result()
		},
		Denied: errnos(unix.EACCES, unix.EPERM),
		Fence:  []string{"dumpable"},
		Second: "bounding: PID 1 has capabilities that programs lack", SecondErrno: errnos(unix.EACCES, unix.EPERM),
		Opens: []string{"bounding"},
	}
}

func open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}
