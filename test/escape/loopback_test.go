package escape

import (
	"net"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func hostLoopback() attack {
	return attack{
		Class: ipcClass, Name: "host-loopback",
		Attack: "connect to a service on the host's loopback",
		Proves: "127.0.0.1 inside is the sandbox's own",
		Host: func(t *testing.T, b *box) {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() }) // ends with the test
			b.env["COOP_TARGET"] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		},
		Run: func() error {
			port, err := strconv.Atoi(os.Getenv("COOP_TARGET"))
			if err != nil {
				return err
			}
			return connect(&unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
		},
		Denied: errnos(unix.ECONNREFUSED),
		Open:   []string{"--network", "host"},
	}
}
