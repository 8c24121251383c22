package escape

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func runtimeOverwrite() attack {
	return attack{
		Class: runtimeClass, Name: "runtime-overwrite", CVE: "CVE-2019-5736",
		Attack: "make the runtime execute itself with #!/proc/self/exe and overwrite its program",
		Proves: "the program PID 1 is started from cannot be changed",
		Run: func() error {
			fd, err := huntRuntime()
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			var a attempts
			a.try("write", overwrite(fd, unix.O_RDWR))
			a.try("truncate", overwrite(fd, unix.O_RDWR|unix.O_TRUNC))
			return a.result()
		},
		During: takeBait,
		Control: func() error { // the same on a memory file without seals
			fd, err := unix.MemfdCreate("control", unix.MFD_CLOEXEC)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return overwrite(fd, unix.O_RDWR|unix.O_TRUNC)
		},
		Denied: errnos(unix.ETXTBSY, unix.EPERM, unix.EACCES),
		Fixed:  "sealed memory file, executed by every PID 1",
	}
}

// overwrite opens a file again through its descriptor and writes to it.
func overwrite(fd, flags int) error {
	w, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(w)
	_, err = unix.Write(w, []byte("#!"))
	return err
}
