package launch

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/launch/initbin"
	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// TestMain also is the PID 1 of these tests: one that does as the host name of
// its setup says, and builds nothing.
func TestMain(m *testing.M) {
	if os.Args[0] == initbin.Arg0 {
		os.Exit(fakeInit())
	}
	os.Exit(m.Run())
}

func fakeInit() int {
	conn := &initproto.Conn{Socket: fdpass.Socket{FD: 3}, Max: initproto.MaxToInit}
	m, fds, err := conn.Read()
	if err != nil {
		return 2
	}
	fdpass.CloseAll(fds)
	answer := initproto.Message{ID: m.ID, Op: initproto.OpReady}
	switch m.Setup.Hostname {
	case "refuses":
		answer.Error = &initproto.Error{Step: "mount proc", Errno: int(unix.EPERM), Message: "operation not permitted"}
	case "ends":
		return 0
	case "garbage":
		_ = conn.Socket.Send([]byte("\x00\x00\x00\x05hello"), nil) // we are killed for it
		select {}
	case "large":
		_ = conn.Socket.Send([]byte{255, 255, 255, 255}, nil)
		select {}
	case "descriptors":
		_ = conn.Write(answer, 0, 1, 2) // announced, but nobody asked for them
	case "mute":
		select {}
	case "off topic":
		answer.Op = initproto.OpHello
	default:
		answer.Ready = &initproto.Ready{Degraded: []initproto.Missing{{Fence: "mask", Reason: m.Setup.Hostname}}}
	}
	if err := conn.Write(answer); err != nil {
		return 2
	}
	if commit, _, err := conn.Read(); err != nil || commit.Op != initproto.OpCommit {
		return 3
	}
	return serveFake(conn)
}

// serveFake answers hello on init.sock and processes on the first connection,
// and lives until it is killed.
func serveFake(conn *initproto.Conn) int {
	go serveConn(conn)
	for {
		fd, _, err := unix.Accept4(4, unix.SOCK_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 4
		}
		go serveConn(&initproto.Conn{Socket: fdpass.Socket{FD: fd}, Max: initproto.MaxToInit})
	}
}

func serveConn(conn *initproto.Conn) {
	for {
		m, fds, err := conn.Read()
		if err != nil {
			return
		}
		fdpass.CloseAll(fds)
		if m.Op == initproto.OpHello {
			m.Hello.Version = initproto.Version
		}
		m.FDs, m.Processes = 0, []initproto.Process{{PID: 1, Command: "fake"}}
		if err := conn.Write(m); err != nil {
			return
		}
	}
}

func fds(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}
