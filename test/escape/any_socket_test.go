package escape

import (
	"io/fs"
	"net"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func anySocket() attack {
	return attack{
		Class: ipcClass, Name: "any-socket",
		Attack: "search the whole file system for a socket or a fifo",
		Proves: "nobody's service is anywhere to be found",
		Run:    findSocket,
		Control: func() error {
			l, err := net.Listen("unix", "/var/tmp/control.sock")
			if err != nil {
				return err
			}
			defer l.Close()
			return findSocket()
		},
		Denied: errnos(unix.ENOENT),
		Fixed:  "allow-list of the image; sockets and fifos are never part of it",
	}
}

func findSocket() error {
	found := ""
	_ = filepath.WalkDir("/", func(p string, d fs.DirEntry, err error) error { // what cannot be listed cannot be used
		switch {
		case err != nil:
			return nil
		case p == "/proc" || p == "/sys":
			return fs.SkipDir
		case d.Type()&(fs.ModeSocket|fs.ModeNamedPipe) != 0:
			found = p
			return fs.SkipAll
		}
		return nil
	})
	if found == "" {
		return refused(unix.ENOENT, "no socket")
	}
	return nil
}
