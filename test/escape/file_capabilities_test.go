package escape

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/caps"
)

func fileCapabilities() attack {
	return attack{
		Class: idsClass, Name: "file-capabilities",
		Attack: "gain capabilities by a file that carries them",
		Proves: "file capabilities do nothing inside",
		Drive: func(t *testing.T, b *box) error {
			b.sh(t, "install -m 755 "+b.probe+" /var/tmp/capable")
			r := b.home.Coop(t, b.command("file-capabilities", partControl)...)
			if v, ok := readVerdict(r.Stdout); !ok || v.worked() != nil {
				t.Fatalf("give the file its capability: exit status %d: %s%s", r.Code, r.Stdout, r.Stderr)
			}
			return b.asNobody(t, "file-capabilities", "/var/tmp/capable")
		},
		// Control gives the file its capability; version 2 is CAP_KILL, effective.
		Control: func() error {
			data := make([]byte, 20)
			binary.LittleEndian.PutUint32(data, 0x02000001)
			binary.LittleEndian.PutUint32(data[4:], 1<<unix.CAP_KILL)
			return unix.Setxattr("/var/tmp/capable", "security.capability", data, 0)
		},
		Child: func() error {
			s, err := caps.ReadSelf()
			if err != nil {
				return err
			}
			if s.Effective.Has(unix.CAP_KILL) {
				return nil
			}
			return refused(unix.EPERM, "effective set is %s", s.Effective)
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"no_new_privs"},
		Second: "the root is mounted nosuid", SecondErrno: errnos(unix.EPERM),
		In: map[string]change{singleID: {Skip: true, Why: "there is no second user inside"}},
	}
}
