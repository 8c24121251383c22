package review

import (
	"io/fs"
	"os"

	"github.com/coop-dev/coop/internal/linux/within"
)

// Compact removes from the layer of a sandbox that does not run what was
// settled, so that it sees the project's files again. layer is its directory.
func Compact(c Config) error {
	state, err := LoadState(c.Dir)
	if err != nil || len(state.entries) == 0 {
		return err
	}
	layer, err := openDir(c.Layer.Dir)
	if err != nil {
		return err
	}
	defer layer.Close()
	project, err := openDir(c.Project)
	if err != nil {
		return err
	}
	defer project.Close()
	k := compactor{layer: layer, project: project, state: state}
	for p, e := range state.entries {
		if err := k.compact(p, e); err != nil {
			return err
		}
	}
	if !k.changed {
		return nil
	}
	return state.save()
}

type compactor struct {
	layer, project *os.File
	state          *State
	changed        bool
}

func (k *compactor) compact(p string, e *entry) error {
	how, err := k.state.settled(p, k.layer)
	if err != nil || how == "" || e.Layer.Ino == 0 || fs.FileMode(e.Layer.Mode).IsDir() || k.hides(dirOf(p)) {
		return err
	}
	if _, err := within.LstatPath(k.project, p); err != nil && !isWhiteout(e.Layer) {
		return nil //nolint:nilerr // the project has lost it: the layer's is all there is
	}
	dir, name, done, err := within.Parent(k.layer, p)
	if err != nil {
		return err
	}
	defer done()
	if err := within.Unlink(dir, name); err != nil {
		return err
	}
	e.Layer, e.Settled, k.changed = stamp{}, "", true
	return nil
}

func isWhiteout(s stamp) bool { return fs.FileMode(s.Mode)&fs.ModeCharDevice != 0 }

// hides reports whether a directory of the layer, or one above it, lets nothing
// of the project show through: there the layer's files are all there is.
func (k *compactor) hides(dir string) bool {
	for ; ; dir = dirOf(dir) {
		f, err := within.OpenDir(k.layer, dir)
		if err != nil {
			return true
		}
		opaque := false
		for _, kind := range []string{"user", "trusted"} {
			opaque = opaque || within.HasXattr(f, kind+".overlay.opaque") || within.HasXattr(f, kind+".overlay.redirect")
		}
		f.Close()
		if opaque || dir == "" {
			return opaque
		}
	}
}
