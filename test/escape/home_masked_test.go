package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

func homeMasked() attack {
	return attack{
		Class: ipcClass, Name: "home-in-workspace",
		Attack: "read Coop's database, log and socket where COOP_HOME lies inside a bind workspace",
		Proves: "Coop's own state is hidden wherever it would show",
		Host:   homeInWorkspace,
		Run: func() error {
			var a attempts
			for _, name := range []string{"coop.db", "daemon.pid", "daemon.sock", "sandboxes"} {
				_, err := os.Stat("/workspace/home/" + name)
				a.try(name, err)
			}
			return a.result()
		},
		Denied: errnos(unix.ENOENT),
		Fence:  []string{"mask"},
	}
}
