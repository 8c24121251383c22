package escape

import (
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

func devices() attack {
	return attack{
		Class: ipcClass, Name: "devices",
		Attack: "find a device in /dev beyond null, zero, full, random, urandom, tty and the sandbox's terminals",
		Proves: "/dev is minimal: no disk, no memory, no console, no KVM, no FUSE",
		Run: func() error {
			known := []string{"null", "zero", "full", "random", "urandom", "tty", "pts/ptmx"}
			return findDevice(known)
		},
		Control: func() error { return findDevice(nil) },
		Denied:  errnos(unix.ENOENT),
		Fixed:   "a /dev made from a list",
	}
}

// findDevice succeeds when there is a device node that is not known.
func findDevice(known []string) error {
	found := ""
	err := filepath.WalkDir("/dev", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, _ := filepath.Rel("/dev", p); d.Type()&fs.ModeDevice != 0 && !slices.Contains(known, name) {
			found = p
		}
		return nil
	})
	if err != nil {
		return err
	}
	if found == "" {
		return refused(unix.ENOENT, "no other device")
	}
	return nil
}
