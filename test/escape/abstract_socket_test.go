package escape

import (
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func abstractSocket() attack {
	return attack{
		Class: ipcClass, Name: "abstract-socket", CVE: "CVE-2020-15257",
		Attack: "connect to an abstract unix socket of the host",
		Proves: "names without a path are the network namespace's own",
		Host: func(t *testing.T, b *box) {
			name := fmt.Sprintf("@coop-escape-%d", time.Now().UnixNano())
			l, err := net.Listen("unix", name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() }) // ends with the test
			b.env["COOP_TARGET"] = name
		},
		Run:    func() error { return connect(&unix.SockaddrUnix{Name: os.Getenv("COOP_TARGET")}) },
		Denied: errnos(unix.ECONNREFUSED),
		Open:   []string{"--network", "host"},
	}
}
