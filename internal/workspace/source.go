// Package workspace finds and checks the host directory a workspace is made
// from. It opens it once; whoever mounts it uses that descriptor, so that what
// was checked is what is used.
//
// It refuses directories a sandbox must not be given: the host's root, Coop's
// own state or what contains it, and what is not a directory or cannot be read.
package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/filestat"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Source is an opened workspace directory.
type Source struct {
	Dir      *os.File
	Path     string // without links
	UID, GID uint32
	Mode     fs.FileMode
	Ranged   bool // a named workspace: files of real root's belong to the range idmap.Volumes
}

// Named is the directory of a named workspace.
func Named(dir *os.File) *Source {
	return &Source{Dir: dir, Path: dir.Name(), Mode: 0o755, Ranged: true}
}

// Open resolves and checks a directory. home is COOP_HOME.
func Open(path, home string) (*Source, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, explain(path, err)
	}
	// A directory or nothing: opening a fifo would wait for its other end.
	dir, err := os.OpenFile(real, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, sandbox.Errorf(sandbox.Invalid, "workspace %s is not a directory", real).
			WithHint("name the directory that holds it")
	}
	if err != nil {
		return nil, explain(path, err)
	}
	s, err := check(dir, real, home)
	if err != nil {
		dir.Close()
		return nil, err
	}
	return s, nil
}

func check(dir *os.File, real, home string) (*Source, error) {
	st, err := filestat.Of(dir)
	if err != nil {
		return nil, explain(real, err)
	}
	if _, err := dir.Readdirnames(1); err != nil && !errors.Is(err, io.EOF) {
		return nil, explain(real, err)
	}
	if root, err := filestat.At("/"); err == nil && root.Same(st) {
		return nil, sandbox.Errorf(sandbox.Invalid, "the workspace cannot be the host's root directory").
			WithHint("name a project directory")
	}
	homeReal, err := filepath.EvalSymlinks(home)
	if err != nil {
		return nil, err
	}
	if within(real, homeReal) {
		return nil, sandbox.Errorf(sandbox.Invalid, "workspace %s lies inside COOP_HOME %s", real, homeReal).
			WithHint("Coop's own state cannot be a workspace; name a project directory")
	}
	if within(homeReal, real) {
		// Hiding it with a mount is not enough: the directory above can be renamed.
		return nil, sandbox.Errorf(sandbox.Invalid, "workspace %s contains COOP_HOME %s", real, homeReal).
			WithHint("choose a directory below it, or set COOP_HOME to a place outside of the workspace")
	}
	return &Source{Dir: dir, Path: real, UID: st.UID, GID: st.GID, Mode: st.Mode}, nil
}

// within reports whether p is dir or lies below it: /ab is not within /a.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

func explain(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sandbox.Errorf(sandbox.Invalid, "workspace %s does not exist", path).
			WithHint("make it first, or use --mode none for a sandbox without a project")
	case errors.Is(err, fs.ErrPermission):
		return sandbox.Errorf(sandbox.Denied, "workspace %s cannot be read: %w", path, err).
			WithHint("a workspace must be readable by you")
	}
	return sandbox.Errorf(sandbox.Invalid, "workspace %s: %w", path, err)
}

// Close lets go of the directory.
func (s *Source) Close() error { return s.Dir.Close() }
