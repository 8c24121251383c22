package escape

import (
	"golang.org/x/sys/unix"
)

func sethostname() attack {
	return attack{
		Class: kernelClass, Name: "sethostname",
		Attack: "change host name and domain name",
		Proves: "the sandbox keeps the name the user gave it",
		Run: func() error {
			var a attempts
			a.try("sethostname", unix.Sethostname([]byte("pwned")))
			a.try("setdomainname", unix.Setdomainname([]byte("pwned")))
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"sethostname", "setdomainname"},
		Second: "bounding: programs lack the capability", SecondErrno: errnos(unix.EPERM),
		Both: []string{"bounding"},
	}
}
