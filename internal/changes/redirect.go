package changes

import (
	"context"

	"github.com/coop-dev/coop/internal/linux/beneath"
)

// DropDeadRedirects repairs the layer of a sandbox that does not run. A directory
// of an overlay that was moved keeps its files at its old place in the project;
// when that is gone, as after the move was approved, the kernel would show none of
// them. Without the redirect it shows what the project has at the new place.
//
// It is the one thing in this package that writes to a layer.
func DropDeadRedirects(ctx context.Context, project string, l Layer) (dropped int, err error) {
	w, err := Open(project, l)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	o, ok := w.layer.(*overlay)
	if !ok || !o.redirects {
		return 0, nil
	}
	todo := []place{{based: true}}
	for len(todo) > 0 {
		if ctx.Err() != nil {
			return dropped, context.Cause(ctx)
		}
		p := todo[len(todo)-1]
		below, dead, err := w.dropRedirect(o, p)
		if err != nil {
			return dropped, err
		}
		if todo = append(todo[:len(todo)-1], below...); dead {
			dropped++
		}
	}
	return dropped, nil
}

// dropRedirect looks at one directory of the layer and gives those in it.
func (w *Workspace) dropRedirect(o *overlay, p place) (below []place, dead bool, err error) {
	l, err := o.read(p.path, DefaultLimits().Changes)
	if err != nil {
		return nil, false, err
	}
	defer l.close()
	base, based := l.base(p.base, p.based)
	if l.redirect != nil && !(based && w.isDir(base)) {
		if err := beneath.RemoveXattr(l.dir, o.notes+"redirect"); err != nil {
			return nil, false, err
		}
		base, based, dead = p.base, p.based, true
	}
	for name, e := range l.entries {
		if path := join(p.path, name); !e.gone && e.Mode.IsDir() && len(path) <= maxPath {
			below = append(below, place{path: path, base: join(base, name), based: based})
		}
	}
	return below, dead, nil
}

func (w *Workspace) isDir(path string) bool {
	info, err := beneath.At(w.project, path)
	return err == nil && info.Mode.IsDir()
}
