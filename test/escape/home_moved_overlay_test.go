package escape

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

func homeMovedOverlay() attack {
	return attack{
		Class: ipcClass, Name: "home-moved-overlay",
		Attack: "rename the directory above a masked COOP_HOME in an overlay workspace and read it after the next start",
		Proves: "a mask cannot be shaken off by moving what it lies on",
		Host: func(t *testing.T, b *box) {
			b.dir = harness.Project(t)
			if err := os.Mkdir(filepath.Join(b.dir, "above"), 0o755); err != nil {
				t.Fatal(err)
			}
			b.home = harness.Adopt(t, filepath.Join(b.dir, "above", "home"))
		},
		Drive: func(t *testing.T, b *box) error {
			r := b.home.Exec(t, b.id, "perl", "-e", `rename("/workspace/above", "/workspace/moved") or die "$!\n"`)
			if r.Code != 0 {
				return exitErrno(t, r)
			}
			for _, verb := range []string{"stop", "start"} {
				if r := b.home.Coop(t, verb, b.id); r.Code != 0 {
					t.Fatalf("%s: %s", verb, r.Stderr)
				}
			}
			if r := b.home.Exec(t, b.id, "head", "-c", "16", "/workspace/moved/home/coop.db"); r.Code != 0 {
				return exitErrno(t, r)
			}
			return nil
		},
		Denied: errnos(unix.ENOENT, unix.EXDEV, unix.EBUSY, unix.EACCES),
		Fixed:  "every directory between the workspace and COOP_HOME is held in place",
	}
}
