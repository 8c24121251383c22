package escape

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func workdirMagicLink() attack {
	return attack{
		Class: runtimeClass, Name: "workdir-magic-link", CVE: "CVE-2024-21626",
		Attack: "have a program started in /proc/1/cwd, /proc/1/root or /proc/self/root",
		Proves: "a working directory is never reached through PID 1's magic links",
		Drive: func(t *testing.T, b *box) error {
			var a attempts
			for _, dir := range []string{"/proc/1/cwd", "/proc/1/root", "/proc/self/cwd", "/proc/self/root", "/proc/thread-self/root"} {
				a.try(dir, startIn(t, b, dir))
			}
			return a.result()
		},
		Denied: errnos(unix.ELOOP),
		Fence:  []string{"magic-links"},
	}
}

// startIn runs true in a working directory.
func startIn(t *testing.T, b *box, dir string) error {
	r := b.home.Coop(t, "exec", "-w", dir, b.id, "--", "true")
	if r.Code == 0 {
		return nil
	}
	for _, e := range []syscall.Errno{unix.ELOOP, unix.ENOTDIR, unix.ENOENT, unix.EACCES, unix.EPERM} {
		if strings.Contains(r.Stderr, e.Error()) {
			return refused(e, "exit status %d: %s", r.Code, strings.TrimSpace(r.Stderr))
		}
	}
	t.Fatalf("%s: exit status %d without a reason: %s", dir, r.Code, r.Stderr)
	return nil
}
