package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

func groups() attack {
	return attack{
		Class: idsClass, Name: "groups",
		Attack: "use a supplementary group of the person who started the daemon",
		Proves: "programs have no group but their own",
		Run: func() error {
			list, err := os.Getgroups()
			if err != nil {
				return err
			}
			for _, g := range list {
				if g != os.Getgid() {
					return nil
				}
			}
			return refused(unix.EPERM, "groups are %v", list)
		},
		Control: func() error { return unix.Setgroups([]int{5}) },
		Denied:  errnos(unix.EPERM),
		Fixed:   "the list is emptied before the first program",
		In: map[string]change{singleID: {
			Skip: true, Why: "the kernel forbids dropping groups without newgidmap; the sandbox says `degraded: groups` when there are any",
		}},
	}
}
