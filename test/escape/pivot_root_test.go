package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

func pivotRoot() attack {
	return attack{
		Class: kernelClass, Name: "pivot-root",
		Attack: "change the root of the whole sandbox with pivot_root",
		Proves: "the root is fixed",
		Run: func() error {
			if err := os.MkdirAll("/tmp/old", 0o755); err != nil {
				return err
			}
			return unix.PivotRoot("/tmp", "/tmp/old")
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"pivot_root"},
		Second: "bounding: programs lack the capability", SecondErrno: errnos(unix.EPERM),
		Both: []string{"bounding"},
	}
}
