package escape

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

func homeMoved() attack {
	return attack{
		Class: ipcClass, Name: "home-moved",
		Attack: "rename the directory above a masked COOP_HOME, so that the next start masks another place",
		Proves: "a mask cannot be shaken off by moving what it lies on",
		Host: func(t *testing.T, b *box) {
			dir := harness.Project(t)
			if err := os.Mkdir(filepath.Join(dir, "above"), 0o755); err != nil {
				t.Fatal(err)
			}
			b.home = harness.Adopt(t, filepath.Join(dir, "above", "home"))
			b.bind(t, dir)
		},
		Run: func() error {
			if err := os.Rename("/workspace/above", "/workspace/moved"); err != nil {
				return err
			}
			// Back again: the harness needs its home. What counts is that the name
			// the mask was made for could be given to something else.
			return os.Rename("/workspace/moved", "/workspace/above")
		},
		Control: func() error {
			if err := os.MkdirAll("/tmp/above/home", 0o755); err != nil {
				return err
			}
			return os.Rename("/tmp/above", "/tmp/moved")
		},
		Denied: errnos(unix.EBUSY, unix.EPERM, unix.EACCES, unix.EROFS),
		Fixed:  "every directory between the workspace and COOP_HOME is held in place",
	}
}
