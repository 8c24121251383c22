package escape

import (
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

func bindSocket() attack {
	return attack{
		Class: ipcClass, Name: "bind-socket",
		Attack: "connect to a unix socket of the host that lies in a bind workspace",
		Proves: "what is given read-write is given with its sockets",
		Host: func(t *testing.T, b *box) {
			dir := harness.Project(t)
			b.bind(t, dir)
			l, err := net.Listen("unix", filepath.Join(dir, "s"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() }) // ends with the test
		},
		Run:     func() error { return connect(&unix.SockaddrUnix{Name: "/workspace/s"}) },
		Allowed: "a bind workspace is the host's directory itself",
	}
}
