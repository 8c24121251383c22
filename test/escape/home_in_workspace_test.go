package escape

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

// A mask over COOP_HOME could be shaken off by renaming a directory above it, so
// a workspace that holds it is refused.
func homeInWorkspace() attack {
	return attack{
		Class: ipcClass, Name: "home-in-workspace",
		Attack: "make a sandbox over a directory that holds COOP_HOME, to read its database or to move it away",
		Proves: "Coop's own state is never part of a workspace",
		Drive: func(t *testing.T, b *box) error {
			dir := harness.Project(t)
			home := harness.Adopt(t, dir+"/above/home")
			for _, mode := range []string{"bind", "overlay"} {
				r := home.Coop(t, "create", "--mode", mode, "--workspace", dir)
				if r.Code == 0 {
					return nil
				}
				if !strings.Contains(r.Stderr, "contains COOP_HOME") {
					t.Fatalf("mode %s: refused for another reason: %s", mode, r.Stderr)
				}
			}
			// The control: the same directory without the home in it.
			if r := b.home.Coop(t, "create", "--mode", "overlay", "--workspace", dir, "--name", "control-home"); r.Code != 0 {
				t.Fatalf("control: %s", r.Stderr)
			}
			if r := b.home.Coop(t, "rm", "-f", "control-home"); r.Code != 0 {
				t.Fatalf("control: %s", r.Stderr)
			}
			return refused(unix.EINVAL, "the workspace contains COOP_HOME")
		},
		Denied: errnos(unix.EINVAL),
		Fixed:  "a workspace that contains COOP_HOME is refused",
	}
}
