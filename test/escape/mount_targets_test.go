package escape

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func mountTargets() attack {
	return attack{
		Class: runtimeClass, Name: "mount-targets", CVE: "CVE-2025-31133, CVE-2025-52565",
		Attack: "leave symbolic links where the next start mounts /proc, /dev, /tmp, /sys and the workspace",
		Proves: "a mount is never led elsewhere by what an upper layer holds",
		Drive: func(t *testing.T, b *box) error {
			var a attempts
			for _, place := range []string{"proc", "dev", "tmp", "sys", "workspace", "usr"} {
				a.try(place, redirect(t, b, place))
			}
			return a.result()
		},
		Denied: errnos(unix.ENOTDIR, unix.ELOOP, unix.EINVAL),
		Fixed:  "mount targets are opened name by name, without following links",
	}
}

// redirect plants the link in the stopped sandbox's upper layer, as an image or
// an earlier program could have, and starts it again.
func redirect(t *testing.T, b *box, place string) error {
	if r := b.home.Coop(t, "stop", b.id); r.Code != 0 {
		t.Fatalf("stop: %s", r.Stderr)
	}
	link := filepath.Join(b.home.Dir, "sandboxes", b.id, "upper", "root", place)
	if err := os.RemoveAll(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Remove(link); err != nil {
			t.Error(err)
		}
	}()
	r := b.home.Coop(t, "start", b.id)
	if r.Code == 0 {
		if mounts := b.sh(t, "cat /proc/self/mountinfo"); strings.Contains(mounts, " /etc ") {
			return nil
		}
		return refused(unix.EINVAL, "the mount went where it should")
	}
	for _, e := range []unix.Errno{unix.ENOTDIR, unix.ELOOP, unix.EINVAL} {
		if strings.Contains(r.Stderr, e.Error()) {
			return refused(e, "%s", strings.TrimSpace(r.Stderr))
		}
	}
	t.Fatalf("start with a link at /%s: exit status %d: %s", place, r.Code, r.Stderr)
	return nil
}
