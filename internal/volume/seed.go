package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/beneath"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/rootfs/copy"
	"github.com/coop-dev/coop/internal/sandbox"
)

// overflow is the id the kernel shows for one that is not mapped.
const overflow = 65534

// FromImage fills a volume with what an image has at a path: root is the tree as
// the sandbox at base sees it, path lies below it. An image without such a
// directory gives nothing.
func FromImage(root *os.File, path string, rooted bool, base uint32) Fill {
	return func(ctx context.Context, stage string) error {
		src, err := beneath.Dir(root, path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
				return nil
			}
			return err
		}
		defer src.Close()
		return explainSeed(path, copy.Tree(ctx, src, stage, imageOwner(rooted, base)))
	}
}

// imageOwner keeps the ids an image gives its files.
func imageOwner(rooted bool, base uint32) copy.Owner {
	one := func(id uint32) int {
		switch {
		case rooted && id >= base && id < base+idmap.Range:
			return int(idmap.Volumes + id - base)
		case rooted:
			return int(idmap.Volumes)
		case id == overflow: // a file of the host's root, as an ordinary user sees it
			return 0
		}
		return int(id)
	}
	return func(uid, gid uint32) (int, int) { return one(uid), one(gid) }
}

// FromHost fills a volume with a directory of the host. As real root everything
// can be read, so what belongs to others is refused there; an ordinary user
// cannot read what is private to others.
func FromHost(src *HostPath, rooted bool) Fill {
	return func(ctx context.Context, stage string) error {
		if !src.Dir {
			return sandbox.Errorf(sandbox.Invalid, "seed %s is not a directory", src.Path).WithHint("name the directory that holds it")
		}
		dir, err := beneath.Dir(src.File, "")
		if err != nil {
			return err
		}
		defer dir.Close()
		foreign := false
		owner := func(uid, _ uint32) (int, int) {
			foreign = foreign || uid != src.UID
			return int(idmap.Volumes), int(idmap.Volumes)
		}
		if !rooted {
			owner = nil
		}
		if err := copy.Tree(ctx, dir, stage, owner); err != nil {
			return explainSeed(src.Path, err)
		}
		if foreign {
			return sandbox.Errorf(sandbox.Denied, "seed %s holds files of other users", src.Path).
				WithHint("copy what you want to share into a directory of your own")
		}
		return nil
	}
}

func explainSeed(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return sandbox.Errorf(sandbox.Denied, "seed from %s: %w", path, err).WithHint("every file of it must be readable by you")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return sandbox.Errorf(sandbox.Unavailable, "seed from %s: %w", path, err).WithHint("free some space where COOP_HOME is")
	}
	return sandbox.Errorf(sandbox.Unavailable, "seed from %s: %w", path, err).WithHint("try again when nothing writes to it")
}
