package copy

import (
	"context"
	"os"

	"github.com/coop-dev/coop/internal/linux/copyfile"
	"github.com/coop-dev/coop/internal/linux/rmtree"
)

// Tree copies src to dst, which must not exist, without a manifest. What it could
// not copy completely is not there.
func Tree(ctx context.Context, src *os.File, dst string, owner Owner) error {
	c := &copier{ctx: ctx, src: src, dst: dst, owner: owner, links: map[inode]string{}}
	err := c.run()
	if err == nil {
		err = sync(dst)
	}
	if err != nil {
		_ = rmtree.Remove(dst) // the first error is the one to tell
	}
	return err
}

func sync(dir string) error {
	top, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer top.Close()
	return copyfile.SyncTree(top)
}
