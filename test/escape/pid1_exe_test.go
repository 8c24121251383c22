package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

func pid1Exe() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-exe", CVE: "CVE-2019-5736",
		Attack: "open PID 1's executable through /proc/1/exe",
		Proves: "the runtime's program is out of reach, even for reading",
		Run: func() error {
			f, err := os.Open("/proc/1/exe")
			if err != nil {
				return err
			}
			return f.Close()
		},
		Denied: errnos(unix.EACCES),
		Fence:  []string{"dumpable"},
		Second: "bounding: PID 1 has capabilities that programs lack", SecondErrno: errnos(unix.EACCES),
		Opens: []string{"bounding"},
	}
}
