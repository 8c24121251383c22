package escape

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func hostSockets() attack {
	return attack{
		Class: ipcClass, Name: "host-sockets",
		Attack: "connect to unix sockets of the host: one in /tmp, one beside the home, Coop's own, and those of docker, podman, containerd, D-Bus, X11, Wayland, tmux and agents",
		Proves: "no socket of the host has a path inside",
		Host: func(t *testing.T, b *box) {
			paths := []string{
				"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
				"/run/dbus/system_bus_socket", "/run/user/0/bus", "/run/user/1000/wayland-0", "/tmp/.X11-unix/X0",
				"/tmp/tmux-0/default", "/root/.gnupg/S.gpg-agent", b.home.Socket(),
			}
			for _, dir := range []string{"/tmp", os.TempDir(), b.home.Dir} {
				paths = append(paths, listenIn(t, dir))
			}
			b.env["COOP_TARGET"] = strings.Join(paths, "\n")
		},
		Run: func() error {
			var a attempts
			for _, p := range strings.Split(os.Getenv("COOP_TARGET"), "\n") {
				a.try(p, connect(&unix.SockaddrUnix{Name: p}))
			}
			return a.result()
		},
		Control: func() error {
			l, err := net.Listen("unix", "/tmp/control.sock")
			if err != nil {
				return err
			}
			defer l.Close()
			return connect(&unix.SockaddrUnix{Name: "/tmp/control.sock"})
		},
		Denied: errnos(unix.ENOENT),
		Fixed:  "mount namespace: nothing of /run, /tmp, /var, /home is shown",
	}
}

// listenIn makes a socket on the host that everybody may connect to.
func listenIn(t *testing.T, dir string) string {
	t.Helper()
	sub, err := os.MkdirTemp(dir, "esc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sub) }) // a test directory
	path := filepath.Join(sub, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // ends with the test
	return path
}

func connect(to unix.Sockaddr) error {
	family := unix.AF_UNIX
	if _, ok := to.(*unix.SockaddrInet4); ok {
		family = unix.AF_INET
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}
