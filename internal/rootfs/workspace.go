package rootfs

import "os"

// MountWorkspace mounts the overlay of a workspace alone, attached nowhere: for
// changing the files of a sandbox that does not run the way the kernel would.
func (b *Builder) MountWorkspace(p Params) (*os.File, error) {
	res := &Result{}
	if err := b.add(res, p, tree{name: "workspace", target: p.Spec.Workspace.Path, mode: p.Workspace.Mode}); err != nil {
		return nil, err
	}
	return res.Files[0], nil
}
