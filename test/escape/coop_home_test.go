package escape

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func coopHome() attack {
	return attack{
		Class: ipcClass, Name: "coop-home",
		Attack: "reach the daemon's socket, token, database and this sandbox's own init.sock by their paths",
		Proves: "Coop's state is not part of a sandbox",
		Host:   func(t *testing.T, b *box) { b.env["COOP_TARGET"] = b.home.Dir },
		Run: func() error {
			var a attempts
			for _, name := range []string{".", "daemon.sock", "token", "coop.db", "daemon.log", "sandboxes"} {
				_, err := os.Stat(filepath.Join(os.Getenv("COOP_TARGET"), name))
				a.try(name, err)
			}
			return a.result()
		},
		Control: func() error { // the same paths, made here, are seen
			dir := os.Getenv("COOP_TARGET")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if _, err := os.Stat(dir); err != nil {
				return err
			}
			return os.Remove(dir)
		},
		Denied: errnos(unix.ENOENT),
		Fixed:  "mount namespace",
	}
}
