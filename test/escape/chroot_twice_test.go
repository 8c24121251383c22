package escape

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

func chrootTwice() attack {
	return attack{
		Class: kernelClass, Name: "chroot-twice",
		Attack: "leave the root with the old trick: chroot below the working directory, then climb",
		Proves: "there is nothing above the sandbox's root",
		Host:   func(t *testing.T, b *box) { b.env["COOP_TARGET"] = harness.Bin() },
		Run: func() error {
			if err := climb("/tmp/jail"); err != nil {
				return err
			}
			_, err := os.Stat("." + os.Getenv("COOP_TARGET"))
			return err
		},
		Control: func() error { // the trick does lead out of a mere chroot
			if err := os.MkdirAll("/tmp/outer", 0o755); err != nil {
				return err
			}
			if err := os.WriteFile("/tmp/secret", nil, 0o644); err != nil {
				return err
			}
			if err := unix.Chroot("/tmp/outer"); err != nil {
				return err
			}
			if err := climb("/jail"); err != nil {
				return err
			}
			_, err := os.Stat("tmp/secret")
			return err
		},
		Denied: errnos(unix.ENOENT),
		Fixed:  "pivot_root with the old root detached",
	}
}

// climb chroots to a new directory while the working directory stays outside of
// it, and goes up from there.
func climb(jail string) error {
	if err := os.MkdirAll(jail, 0o755); err != nil {
		return err
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Chroot(jail); err != nil {
		return err
	}
	for range 32 {
		if err := unix.Chdir(".."); err != nil {
			return err
		}
	}
	return nil
}
