package rootfs

import (
	"os"
	"path/filepath"

	"github.com/coop-dev/coop/internal/linux/rmtree"
	"github.com/coop-dev/coop/internal/rootfs/overlay"
)

// Probe makes a small overlay in dir and takes it away again: nothing else tells
// whether one can be had there.
func (b *Builder) Probe(dir string) error {
	top, err := os.MkdirTemp(dir, "probe-")
	if err != nil {
		return err
	}
	defer rmtree.Remove(top) //nolint:errcheck // swept with the cache otherwise
	var open opened
	defer open.close()
	for _, name := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(top, name), 0o700); err != nil {
			return err
		}
	}
	m, err := overlay.Mount(overlay.Layers{
		Lowers: []*os.File{open.dir(filepath.Join(top, "lower"))},
		Upper:  open.dir(filepath.Join(top, "upper")), Work: open.dir(filepath.Join(top, "work")),
	}, overlay.Options{UserXattr: !b.Root})
	if err != nil {
		return err
	}
	return m.Close()
}
