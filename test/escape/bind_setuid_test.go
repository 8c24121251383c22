package escape

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

func bindSetuid() attack {
	return attack{
		Class: idsClass, Name: "bind-setuid",
		Attack: "leave a setuid program of the workspace's owner in a bind workspace, for another user of the host to run",
		Proves: "a sandbox cannot hand its owner's rights to others",
		Host:   func(t *testing.T, b *box) { b.bind(t, harness.Project(t)) },
		Drive: func(t *testing.T, b *box) error {
			r := b.home.Exec(t, b.id, "sh", "-c", "cp /bin/sh /workspace/gift && chmod 6755 /workspace/gift")
			st, err := os.Stat(filepath.Join(b.dir, "gift"))
			if err != nil {
				t.Fatal(err)
			}
			if st.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
				return nil
			}
			return refused(unix.EPERM, "mode is %v: %s", st.Mode(), r.Stderr)
		},
		Allowed: "a bind workspace is the host's directory itself, set-id bits included; use the default overlay for programs you do not trust",
	}
}
