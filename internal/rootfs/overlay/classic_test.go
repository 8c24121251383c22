package overlay

import (
	"testing"

	"github.com/coop-dev/coop/internal/linux/mount"
)

// TestClassicMount is what every kernel before 6.8 does: lowers in one string,
// by mount(2).
func TestClassicMount(t *testing.T) {
	if !inside(t) {
		return
	}
	tr := makeTrees(t)
	m, err := mountClassic(tr.layers(t), Options{UserXattr: true}, mount.NoSuid|mount.NoDev)
	if err != nil {
		need(t, "overlayfs over a temporary directory", err)
	}
	defer m.Close()
	checkTree(t, tr, m)
}
