package pid1

import (
	"errors"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// With one id and changes of identity emulated, nobody but root can be run as:
// the child's setresuid would say that it worked.
func TestMapped(t *testing.T) {
	for _, c := range []struct {
		oneID    bool
		uid, gid uint32
		want     error
	}{
		{false, 1000, 1000, nil},
		{true, 0, 0, nil},
		{true, 1000, 0, unix.EINVAL},
		{true, 0, 5, unix.EINVAL},
	} {
		err := (&Init{oneID: c.oneID}).mapped(&syscall.Credential{Uid: c.uid, Gid: c.gid})
		if !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
