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
		Attack: "dial init.sock of a COOP_HOME that lies in the workspace and speak to PID 1 as a daemon",
		Proves: "PID 1 takes orders from outside only",
		Host:   homeInWorkspace,
		Run: func() error {
			found, err := filepath.Glob("/workspace/home/sandboxes/*/init.sock")
			if err != nil || len(found) == 0 {
				return refused(unix.ENOENT, "init.sock is not visible")
			}
			return hello(found[0])
		},
		Denied: errnos(unix.ENOENT),
		Fence:  []string{"mask"},
		Second: "peer-pid: PID 1 hangs up on processes it can see", SecondErrno: errnos(unix.ECONNRESET),
		Both: []string{"peer-pid"},
		Ends: true, // the daemon is hung up on
	}
}

// homeInWorkspace gives the run a COOP_HOME inside its own bind workspace.
func homeInWorkspace(t *testing.T, b *box) {
	dir := harness.Project(t)
	b.home = harness.Adopt(t, filepath.Join(dir, "home"))
	b.bind(t, dir)
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
