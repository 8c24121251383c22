package escape

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/filestat"
)

func volumeOwner() attack {
	return attack{
		Class: idsClass, Name: "volume-owner",
		Attack:  "leave set-uid programs and files of host root in a named workspace, a volume, what the project keeps and a cache",
		Proves:  "nothing that outlives a sandbox belongs to anybody of the host",
		Private: true, // it looks at all volumes there are
		Host: func(_ *testing.T, b *box) {
			b.create = append(b.create, "--volume", "escape:/volume", "--cache", "/cache")
		},
		Drive: func(t *testing.T, b *box) error {
			b.sh(t, "for d in /volume /cache /root/.claude; do cp /bin/sh $d/gift; chown 0:0 $d/gift; chmod 6755 $d/gift; chown 1000 $d/gift; touch $d/f; chown 65534 $d/f; done 2>/dev/null; true")
			if r := b.home.Coop(t, "cache", "promote", b.id); r.Code != 0 {
				t.Fatal(r.Stderr)
			}
			return lastingOwners(t, b)
		},
		Denied: errnos(unix.EPERM),
		Fixed:  "a range of ids of its own behind idmapped mounts (root), id map (user); a promote drops set-id bits",
	}
}

// lastingOwners looks at everything that the sandbox left outside of itself.
func lastingOwners(t *testing.T, b *box) error {
	var a attempts
	for _, dir := range []string{"volumes", "persist", "cache/shared"} {
		top := filepath.Join(b.home.Dir, dir)
		found := 0
		err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			found++
			st, err := filestat.At(p)
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(top, p)
			a.try(fmt.Sprintf("%s/%s of %d", dir, name, st.UID), b.lasting(dir, st))
			return nil
		})
		if err != nil || found == 0 {
			t.Fatalf("%s: %d files: %v", dir, found, err)
		}
	}
	return a.result()
}

// lasting judges one file: its owner is nobody of the host, or the user himself,
// and in a shared cache it has no set-id bits.
func (b *box) lasting(dir string, st filestat.Stat) error {
	if dir == "cache/shared" && st.Mode&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return nil
	}
	if b.mode == asRoot && (st.UID < 0x70000000 || st.GID < 0x70000000) {
		return nil
	}
	if b.mode != asRoot && st.UID != uint32(os.Getuid()) && st.UID < 100000 {
		return nil
	}
	return refused(unix.EPERM, "belongs to %d:%d, mode %v", st.UID, st.GID, st.Mode)
}
