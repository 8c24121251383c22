package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/mount"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Stack is an image's layers: directories of Dir, the topmost first. An image
// without any is an empty root.
type Stack struct {
	Dir   string
	Names []string
}

// stack opens the layers. Layers are stored with the ids of the image, so for
// real root they are idmapped; one clone of the directory that holds them all
// serves for any number.
func (b *Builder) stack(open *opened, p Params) []*os.File {
	s := p.Stack
	if len(s.Names) == 0 { // overlayfs wants one
		return []*os.File{open.dir(filepath.Join(p.Dir, "merged"))}
	}
	dir := b.lower(open, open.dir(s.Dir), idmap.Based(p.IDBase), idmap.Based(p.IDBase))
	if open.err != nil {
		return nil
	}
	list := make([]*os.File, 0, len(s.Names))
	for _, name := range s.Names {
		list = append(list, open.dir(mount.FDPath(int(dir.Fd()))+"/"+name))
	}
	return list
}

// complete puts into the upper layer what an image may lack and a sandbox needs:
// name servers, and a workspace where none is mounted. Mount points are made by
// PID 1.
func (b *Builder) complete(p Params) error {
	root := filepath.Join(p.Dir, "upper", "root")
	if text, err := os.ReadFile("/etc/resolv.conf"); err == nil { // a host without one has none to offer
		if err := b.put(filepath.Join(root, "etc", "resolv.conf"), text, p.IDBase); err != nil {
			return err
		}
	}
	if p.Spec.Workspace.Mode != sandbox.ModeNone {
		return nil
	}
	dir := root
	for part := range strings.SplitSeq(strings.Trim(p.Spec.Workspace.Path, "/"), "/") {
		dir = filepath.Join(dir, part)
		if err := b.makeDir(dir, 0o755, p.IDBase); err != nil {
			return err
		}
	}
	if p.OwnerUID == 0 {
		return nil
	}
	err := os.Lchown(dir, int(p.IDBase+p.OwnerUID), int(p.IDBase+p.OwnerGID))
	if errors.Is(err, syscall.EINVAL) {
		return nil // that user has no id here; who starts a program as it is told
	}
	return err
}

// put writes a file of the sandbox's root.
func (b *Builder) put(file string, text []byte, base uint32) error {
	const mode fs.FileMode = 0o644
	if err := os.WriteFile(file, text, mode); err != nil {
		return err
	}
	if err := os.Chmod(file, mode); err != nil { // the daemon's umask is narrow
		return err
	}
	return b.chown(file, base)
}
