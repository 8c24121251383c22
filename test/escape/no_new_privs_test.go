package escape

import "golang.org/x/sys/unix"

func noNewPrivs() attack {
	return attack{
		Class: idsClass, Name: "no-new-privs",
		Attack: "run without no_new_privs, or take it off",
		Proves: "executing a file never gives more than there was",
		Run: func() error {
			_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) // EINVAL: it can only be set
			set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
			if err != nil {
				return err
			}
			if set == 1 {
				return refused(unix.EPERM, "no_new_privs is set")
			}
			return nil
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"no_new_privs"},
	}
}
