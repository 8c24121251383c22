package rootfs

import "strings"

// makeHome makes the places of what root keeps in its home in the upper layer,
// which holds nothing yet. PID 1 would make them through the overlay, which
// copies the home up first: that takes several times as long, and every create
// of a project does it.
func (b *Builder) makeHome(p Params) error {
	user, _, _ := strings.Cut(p.Spec.Agent.User, ":")
	if len(p.Spec.Persist) == 0 || p.Spec.Project() == "" || (user != "root" && user != "0") {
		return nil
	}
	home := p.layers("upper", "root", "root")
	if err := b.makeDir(home, 0o700, p.IDBase); err != nil {
		return err
	}
	for _, path := range p.Spec.Persist {
		if strings.Contains(path, "/") {
			continue // rare: PID 1 makes what is missing
		}
		if err := b.makeDir(home+"/"+path, 0o700, p.IDBase); err != nil {
			return err
		}
	}
	return nil
}
