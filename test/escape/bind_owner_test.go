package escape

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/filestat"
	"github.com/coop-dev/coop/test/harness"
)

// workspaceOwner is whom a workspace belongs to when the daemon is root; it need
// not exist.
const workspaceOwner = 4321

func bindOwner() attack {
	return attack{
		Class: idsClass, Name: "bind-owner",
		Attack: "make files of host root in a bind workspace, by creating and by every chown",
		Proves: "what a sandbox writes belongs to the workspace's owner or to ids of the sandbox",
		Drive: func(t *testing.T, b *box) error {
			b.sh(t, "cd /workspace && mkdir dir && for i in 0 1 1000 65534; do touch f$i; chown $i f$i; chown $i:$i dir; done 2>/dev/null; true")
			return ownedByRoot(t, b.dir)
		},
		Host: func(t *testing.T, b *box) {
			dir := harness.Project(t)
			b.bind(t, dir)
			if b.mode != asRoot {
				return
			}
			if err := os.Chown(dir, workspaceOwner, workspaceOwner); err != nil {
				t.Fatal(err)
			}
		},
		Denied: errnos(unix.EPERM),
		Fixed:  "idmapped mount (root), id map (user)",
	}
}

// ownedByRoot looks at what came to be in the workspace.
func ownedByRoot(t *testing.T, dir string) error {
	made, err := filepath.Glob(filepath.Join(dir, "f*"))
	if err != nil || len(made) == 0 {
		t.Fatalf("nothing was made: %v", err)
	}
	for _, f := range append(made, filepath.Join(dir, "dir")) {
		st, err := filestat.At(f)
		if err != nil {
			t.Fatal(err)
		}
		if st.UID == 0 || st.GID == 0 {
			return nil
		}
		if filepath.Base(f) == "f0" && os.Getuid() == 0 && st.UID != workspaceOwner {
			t.Errorf("%s belongs to %d, not to the workspace's owner", f, st.UID)
		}
	}
	return refused(unix.EPERM, "no file of host root")
}
