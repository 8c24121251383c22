package load_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/seccomp/load"
)

// Install with real programs is tested in package seccomp, in a child process.
func TestInstallRefusesMalformedPrograms(t *testing.T) {
	for name, prog := range map[string][]byte{
		"none":      nil,
		"truncated": make([]byte, 12),
		"too long":  make([]byte, 4097*8),
	} {
		if err := load.Install(prog); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%s: %v, want EINVAL", name, err)
		}
	}
}
