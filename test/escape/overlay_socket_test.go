package escape

import (
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

func overlaySocket() attack {
	return attack{
		Class: ipcClass, Name: "overlay-socket",
		Attack: "connect to a unix socket of the host that lies in the project, through the overlay and through /repo",
		Proves: "an overlay workspace gives files, not the services behind them",
		Host: func(t *testing.T, b *box) {
			b.dir = harness.Project(t)
			copyProbe(t, b.dir)
			l, err := net.Listen("unix", filepath.Join(b.dir, "s"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() }) // ends with the test
		},
		Run: func() error {
			var a attempts
			a.try("/workspace/s", connect(&unix.SockaddrUnix{Name: "/workspace/s"}))
			a.try("/repo/s", connect(&unix.SockaddrUnix{Name: "/repo/s"}))
			return a.result()
		},
		Control: func() error {
			l, err := net.Listen("unix", "/workspace/own")
			if err != nil {
				return err
			}
			defer l.Close()
			return connect(&unix.SockaddrUnix{Name: "/workspace/own"})
		},
		Denied: errnos(unix.ECONNREFUSED, unix.EACCES, unix.EROFS, unix.ENOENT),
		Fixed:  "overlay inodes carry no listener; /repo is read-only",
	}
}
