package escape

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/test/harness"
)

func initSocket() attack {
	return attack{
		Class: runtimeClass, Name: "init-socket",
		Attack: "dial PID 1's own init.sock, linked into the workspace by somebody careless, and speak to it as a daemon",
		Proves: "PID 1 takes orders from outside only",
		Host: func(t *testing.T, b *box) {
			b.bind(t, harness.Project(t))
			if err := unix.Mkfifo(filepath.Join(b.dir, "linked"), 0o666); err != nil {
				t.Fatal(err)
			}
		},
		During: linkSocket,
		Run: func() error {
			f, err := os.Open("/workspace/linked") // waits until the link is there
			if err != nil {
				return err
			}
			f.Close()
			return hello("/workspace/init.sock")
		},
		Denied: errnos(unix.ECONNRESET),
		Fence:  []string{"peer-pid"},
		Ends:   true, // the daemon is hung up on
	}
}

// linkSocket makes the socket reachable and says so.
func linkSocket(t *testing.T, b *box, _ <-chan struct{}) {
	from := filepath.Join(b.home.Dir, "sandboxes", b.id, "init.sock")
	if err := os.Link(from, filepath.Join(b.dir, "init.sock")); err != nil {
		t.Error(err)
	}
	f, err := os.OpenFile(filepath.Join(b.dir, "linked"), os.O_WRONLY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	f.Close()
}

// hello greets PID 1 as a new daemon would.
func hello(path string) error {
	if err := os.Chdir(filepath.Dir(path)); err != nil { // an address holds 107 bytes
		return err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: filepath.Base(path)}); err != nil {
		return err
	}
	conn := &initproto.Conn{Socket: fdpass.Socket{FD: fd}, Max: initproto.MaxFromInit}
	ask := initproto.Message{ID: 7, Op: initproto.OpHello, Hello: &initproto.Hello{Version: initproto.Version}}
	if err := conn.Write(ask); err != nil {
		return refused(unix.ECONNRESET, "PID 1 hung up: %v", err)
	}
	m, _, err := conn.Read()
	if err != nil || m.Hello == nil {
		return refused(unix.ECONNRESET, "PID 1 hung up: %v", err)
	}
	return nil
}
