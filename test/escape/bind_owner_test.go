package escape

import (
	"fmt"
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
		Attack: "make files of host root or of another user of the host in a bind workspace, by creating and by chown",
		Proves: "what a sandbox writes belongs to the workspace's owner or to ids of the sandbox",
		Drive: func(t *testing.T, b *box) error {
			b.sh(t, "cd /workspace && mkdir dir && for i in 0 1 1000 65534; do touch f$i; chown $i f$i; chown $i:$i dir; done 2>/dev/null; true")
			return ownedByOthers(t, b)
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

// ownedByOthers looks at what came to be in the workspace.
func ownedByOthers(t *testing.T, b *box) error {
	made, err := filepath.Glob(filepath.Join(b.dir, "f*"))
	if err != nil || len(made) == 0 {
		t.Fatalf("nothing was made: %v", err)
	}
	var a attempts
	for _, f := range append(made, filepath.Join(b.dir, "dir")) {
		st, err := filestat.At(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []uint32{st.UID, st.GID} {
			var err error
			if b.mayOwn(id) {
				err = refused(unix.EPERM, "belongs to %d", id)
			}
			a.try(fmt.Sprintf("%s of %d", filepath.Base(f), id), err)
		}
	}
	return a.result()
}

// mayOwn says whose a file from inside may be: the workspace's owner's, and for
// a user any id of the range subuid(5) gave them.
func (b *box) mayOwn(id uint32) bool {
	if b.mode == asRoot {
		return id == workspaceOwner
	}
	return id == uint32(os.Getuid()) || id >= 100000
}
