package changes

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/coop-dev/coop/internal/changes/manifest"
	"github.com/coop-dev/coop/internal/linux/beneath"
	"github.com/coop-dev/coop/internal/linux/mount"
)

// Layer is where a driver keeps what a sandbox wrote to its workspace.
type Layer struct {
	Dir      string // an overlay's upper layer, or the copy
	Trusted  bool   // an overlay of real root: the kernel's notes are trusted.overlay.*, otherwise user.overlay.*
	Manifest string // the copy's manifest; empty for an overlay
}

// Workspace is an opened project and the layer over it. It only reads.
type Workspace struct {
	project, upper *os.File
	layer          layer
	was            *manifest.Manifest // of a copy
}

// Open opens both. A project that is gone is fs.ErrNotExist.
func Open(project string, l Layer) (*Workspace, error) {
	w := &Workspace{}
	var err error
	if w.project, err = openProject(project, l.Trusted && l.Manifest == ""); err != nil {
		return nil, err
	}
	if w.upper, err = openDir(l.Dir); err != nil {
		w.Close()
		return nil, err
	}
	switch {
	case l.Manifest != "":
		if w.was, err = manifest.Open(l.Manifest); err != nil {
			w.Close()
			return nil, err
		}
		w.layer = &copied{root: w.upper, was: w.was}
	case l.Trusted:
		w.layer = &overlay{root: w.upper, notes: "trusted.overlay.", redirects: true}
	default:
		w.layer = &overlay{root: w.upper, notes: "user.overlay."}
	}
	return w, nil
}

// openProject opens the project as its overlay sees it: without the filesystems
// that are mounted on directories in it. Only real root can have a workspace
// with such directories; the kernel refuses them in a user namespace.
func openProject(path string, root bool) (*os.File, error) {
	dir, err := openDir(path)
	if err != nil || !root || mount.Below(path) == "" {
		return dir, err
	}
	defer dir.Close()
	return mount.Clone(int(dir.Fd()), "", false)
}

func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// Close lets go of both; it may be called twice.
func (w *Workspace) Close() error {
	var errs []error
	if w.was != nil {
		errs = append(errs, w.was.Close())
		w.was = nil
	}
	for _, f := range []**os.File{&w.project, &w.upper} {
		if *f != nil {
			errs = append(errs, (*f).Close())
			*f = nil
		}
	}
	return errors.Join(errs...)
}

// OpenOld opens the content a change had in the project. Only a regular file is
// opened; anything else is an error.
func (w *Workspace) OpenOld(c Change) (*os.File, error) {
	f, _, err := beneath.File(w.project, c.oldPath())
	return f, err
}

// OpenNew opens the content a change has in the workspace. What has become
// something else than a regular file meanwhile is an error.
func (w *Workspace) OpenNew(c Change) (*os.File, error) {
	f, _, err := w.openNew(c.Path, c.from)
	return f, err
}

// openNew opens a file of the workspace: in the layer, or still in the project.
func (w *Workspace) openNew(path, from string) (*os.File, beneath.Info, error) {
	if from != "" {
		return beneath.File(w.project, from)
	}
	f, info, err := beneath.File(w.upper, path)
	if err != nil {
		return nil, info, err
	}
	if err := w.layer.whole(f); err != nil {
		f.Close()
		return nil, info, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, info, nil
}
