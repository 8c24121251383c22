package escape

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

// exitErrno reads the reason out of what an ordinary program said.
func exitErrno(t *testing.T, r harness.Result) error {
	t.Helper()
	for _, e := range []syscall.Errno{unix.EACCES, unix.EPERM, unix.ENOENT, unix.EROFS, unix.ELOOP, unix.EXDEV, unix.EBUSY} {
		if strings.Contains(strings.ToLower(r.Stderr), e.Error()) {
			return refused(e, "%s", strings.TrimSpace(r.Stderr))
		}
	}
	t.Fatalf("exit status %d without a reason: %s", r.Code, r.Stderr)
	return nil
}
