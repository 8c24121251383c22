package engine

import (
	"testing"

	"github.com/coop-dev/coop/internal/linux/mount"
	"github.com/coop-dev/coop/internal/sandbox"
)

// TestMountIntoRecovered: a new daemon can still put a mount into a sandbox that
// an earlier one made, read-only if it shall be.
func TestMountIntoRecovered(t *testing.T) {
	w := newWorld(t)
	v := w.make(sandbox.Spec{Name: "box"})
	w.again()
	for target, readOnly := range map[string]bool{"/mnt/late": false, "/mnt/fixed": true} {
		m, err := mount.New("tmpfs", mount.NoSuid|mount.NoDev, mount.Option{Key: "mode", Value: "0777"})
		if err != nil {
			t.Fatal(err)
		}
		err = w.running(v.ID).init.Attach(t.Context(), m, target, readOnly)
		m.Close()
		if err != nil {
			t.Fatal(target, err)
		}
		out, said := w.run("box", "touch "+target+"/x; grep -q ' "+target+" tmpfs' /proc/mounts")
		if out.Code != 0 || (said != "") != readOnly { // touch complains where it may not write
			t.Errorf("%s: %+v, %q", target, out, said)
		}
	}
}
