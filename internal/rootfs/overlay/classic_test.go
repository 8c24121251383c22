package overlay

import (
	"fmt"
	"os"
	"path/filepath"
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

// TestClassicMountOf500: the most the kernel stacks still fits into one page of
// options.
func TestClassicMountOf500(t *testing.T) {
	if !inside(t) {
		return
	}
	tr := makeTrees(t)
	l := Layers{Upper: open(t, tr.upper), Work: open(t, tr.work)}
	for i := range 500 {
		dir := filepath.Join(filepath.Dir(tr.lower), fmt.Sprintf("layer%d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, fmt.Sprintf("f%d", i)), fmt.Sprint(i))
		l.Lowers = append(l.Lowers, open(t, dir))
	}
	m, err := mountClassic(l, Options{UserXattr: true}, mount.NoSuid|mount.NoDev)
	if err != nil {
		need(t, "overlayfs over a temporary directory", err)
	}
	defer m.Close()
	if a, b := read(t, m, "f0"), read(t, m, "f499"); a != "0" || b != "499" {
		t.Errorf("%q %q", a, b)
	}
}
