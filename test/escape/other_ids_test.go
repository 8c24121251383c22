package escape

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

func otherIDs() attack {
	return attack{
		Class: idsClass, Name: "other-ids",
		Attack: "read a file of another user of the host that lies in the workspace",
		Proves: "root inside is not root over other people's files",
		Host: func(t *testing.T, b *box) {
			if b.mode != asRoot { // a directory of root's that everybody may list
				b.dir, b.probe = "/etc", "/repo-probe"
				b.env["COOP_TARGET"] = "/workspace/shadow"
				return
			}
			b.dir = harness.Project(t)
			copyProbe(t, b.dir)
			for _, f := range []struct {
				name string
				uid  int
			}{{"", workspaceOwner}, {"secret", workspaceOwner + 1}} {
				p := filepath.Join(b.dir, f.name)
				if f.name != "" {
					if err := os.WriteFile(p, []byte("secret"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Chown(p, f.uid, f.uid); err != nil {
					t.Fatal(err)
				}
			}
			b.env["COOP_TARGET"] = "/workspace/secret"
		},
		Drive: func(t *testing.T, b *box) error {
			r := b.home.Exec(t, b.id, "cat", b.env["COOP_TARGET"])
			if r.Code == 0 {
				return nil
			}
			return exitErrno(t, r)
		},
		Denied: errnos(unix.EACCES),
		Fixed:  "the file's owner has no id inside, so CAP_DAC_OVERRIDE does not apply",
	}
}
