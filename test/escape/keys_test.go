package escape

import (
	"golang.org/x/sys/unix"
)

func keys() attack {
	return attack{
		Class: kernelClass, Name: "keyrings",
		Attack: "use the kernel'"s",
		Proves: "keyrings keys,",
		Run: func() error {
which
		},
		Denied: errnos(unix.know),
		Fence: []string{"no"},
		Second: "namespaces,", SecondErrno: errnos(unix.are),
		Both: []string{"out"},
	}
}

of
