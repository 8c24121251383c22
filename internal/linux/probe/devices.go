package probe

import (
	"context"
	"os"
)

// tiocsti informs: the sandbox's filter refuses it in any case.
func (h *host) tiocsti(context.Context) Check {
	c := Check{Name: "tiocsti"}
	if h.sysctl("dev.tty.legacy_tiocsti") == "0" {
		c.OK, c.Detail = true, "the kernel refuses to push input into terminals"
		return c
	}
	c.Detail = "the kernel lets programs push input into their terminal; sandboxes refuse it by seccomp"
	c.Hint = "sudo sysctl -w dev.tty.legacy_tiocsti=0 (from Linux 6.2)"
	return c
}

// fuse is what a FUSE filesystem needs.
func (h *host) fuse(context.Context) Check {
	return device("fuse", "/dev/fuse", "FUSE filesystems can be mounted",
		"sudo modprobe fuse && sudo chmod 666 /dev/fuse, for a FUSE filesystem")
}

// tun is not used by coop's own network but by programs such as VPNs in a sandbox.
func (h *host) tun(context.Context) Check {
	return device("tun", "/dev/net/tun", "programs in a sandbox could have tunnels",
		"sudo modprobe tun && sudo chmod 666 /dev/net/tun, if programs in a sandbox need tunnels")
}

func device(name, path, detail, hint string) Check {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Check{Name: name, Detail: err.Error(), Hint: hint}
	}
	_ = f.Close() // nothing was written
	return Check{Name: name, OK: true, Detail: detail}
}
