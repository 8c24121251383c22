package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/mount"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Memory makes the place for a sandbox's writes that is gone with it: a tmpfs of
// so many bytes, attached nowhere. Whoever holds the descriptor keeps it.
func Memory(bytes int64) (*os.File, error) {
	inodes := max(bytes/4096, 1<<16) // an empty file takes memory too
	m, err := mount.New("tmpfs", mount.NoSuid|mount.NoDev,
		mount.Option{Key: "size", Value: strconv.FormatInt(bytes, 10)},
		mount.Option{Key: "nr_inodes", Value: strconv.FormatInt(inodes, 10)},
		mount.Option{Key: "mode", Value: "0700"})
	if err != nil {
		return nil, sandbox.Errorf(sandbox.Unavailable, "tmpfs for the sandbox's writes: %w", err).WithHint("use upper = \"disk\"")
	}
	return m, nil
}

// prepareMemory makes the directories that layers lie in. The workspace's layer
// also has an empty place on the disk: that is what is left of it afterwards.
func prepareMemory(p Params) error {
	if p.Memory == nil {
		return nil
	}
	if p.Driver == Copy {
		return sandbox.Errorf(sandbox.Invalid, "the copy driver needs upper = \"disk\"").
			WithHint("a copy in memory has no room for a project; leave one of the two out")
	}
	for _, dir := range []string{p.layers("upper"), p.layers("work"), Layer(p.Dir)} {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// keep puts the memory among what PID 1 gets, not to be mounted.
func (r *Result) keep(m *os.File) error {
	if m == nil {
		return nil
	}
	dup, err := fdpass.Share(m)
	if err != nil {
		return err
	}
	r.Keep = len(r.Files)
	r.Files = append(r.Files, dup)
	return nil
}
