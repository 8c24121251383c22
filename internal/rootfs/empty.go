package rootfs

import (
	"errors"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/sandbox"
)

// makeEmpty makes the workspace of mode none: an empty directory of the upper
// layer, which holds nothing yet. Directories above it merge with the image's.
func (b *Builder) makeEmpty(p Params) error {
	if p.Spec.Workspace.Mode != sandbox.ModeNone {
		return nil
	}
	at := p.layers("upper", "root")
	names := strings.Split(strings.Trim(path.Clean(p.Spec.Workspace.Path), "/"), "/")
	for i, name := range names {
		at = at + "/" + name
		if err := b.makeDir(at, 0o755, p.IDBase); err != nil {
			return err
		}
		if last := i == len(names)-1; last && p.OwnerUID != 0 {
			err := os.Lchown(at, int(p.IDBase+p.OwnerUID), int(p.IDBase+p.OwnerGID))
			if errors.Is(err, syscall.EINVAL) {
				return nil // that user has no id here; who starts a program as it is told
			}
			return err
		}
	}
	return nil
}
