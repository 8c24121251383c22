package launch

import (
	"errors"
	"io"
	"net"
	"os"

	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// socket carries initproto over the Go poller.
type socket struct{ conn *net.UnixConn }

// newSocket takes over one end of a socket pair.
func newSocket(fd int) (socket, error) {
	f := os.NewFile(uintptr(fd), "init")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return socket{}, err
	}
	return socket{c.(*net.UnixConn)}, nil
}

func (s socket) Send(b []byte, fds []int) error {
	oob := fdpass.Control(fds)
	for len(b) > 0 {
		n, _, err := s.conn.WriteMsgUnix(b, oob, nil)
		if err != nil {
			return err
		}
		b, oob = b[n:], nil
	}
	return nil
}

func (s socket) Recv(b []byte) (int, []int, error) {
	oob := make([]byte, 1024)
	n, oobn, _, _, err := s.conn.ReadMsgUnix(b, oob)
	if errors.Is(err, io.EOF) {
		return 0, nil, nil // the codec tells an end between messages from one within
	}
	if err != nil {
		return 0, nil, err
	}
	fds, err := fdpass.Rights(oob[:oobn])
	return n, fds, err
}

func (s socket) Close() error { return s.conn.Close() }
