package escape

import "golang.org/x/sys/unix"

func keys() attack {
	return attack{
		Class: kernelClass, Name: "keyrings",
		Attack: "use the kernel's keyrings",
		Proves: "keys, which know no namespaces, are out of reach",
		Run: func() error {
			var a attempts
			_, err := unix.AddKey("user", "coop-escape", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			a.try("add_key", err)
			_, err = unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
			a.try("keyctl", err)
			err = call(unix.SYS_REQUEST_KEY, pointer(text("user")), pointer(text("coop-escape-none")), 0, 0)
			a.try("request_key", reached(err, unix.ENOKEY))
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"add_key", "keyctl", "request_key"},
	}
}
