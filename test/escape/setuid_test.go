package escape

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func setuidBinary() attack {
	return attack{
		Class: idsClass, Name: "setuid",
		Attack: "become another user by a setuid and setgid program",
		Proves: "setuid bits do nothing inside",
		Drive: func(t *testing.T, b *box) error {
			b.sh(t, "install -m 6755 "+b.probe+" /var/tmp/setuid")
			return b.asNobody(t, "setuid", "/var/tmp/setuid")
		},
		Child: func() error {
			if os.Getuid() == 0 {
				return refused(unix.EINVAL, "started as root: nothing to gain")
			}
			if os.Geteuid() == 0 || os.Getegid() == 0 {
				return nil
			}
			return refused(unix.EPERM, "still uid %d", os.Geteuid())
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"no_new_privs"},
		Second: "the root is mounted nosuid", SecondErrno: errnos(unix.EPERM),
		In: map[string]change{singleID: {Skip: true, Why: "there is no second user inside"}},
	}
}

// asNobody runs a program inside as another user and gives its verdict.
func (b *box) asNobody(t *testing.T, name, program string) error {
	t.Helper()
	b.exec, b.probe = []string{"-u", "65534:65534"}, program
	r := b.home.Coop(t, b.command(name, partChild)...)
	v, ok := readVerdict(r.Stdout)
	if !ok {
		t.Fatalf("no verdict: exit status %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	return (&attempts{v}).result()
}
