package review

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/coop-dev/coop/internal/linux/within"
)

// cleaner removes what was replaced, once everything is in its place.
type cleaner struct {
	dirs *dirs
	step func(string)
}

func (c *cleaner) run(ops []op) error {
	waiting := slices.DeleteFunc(slices.Clone(ops), func(o op) bool { return o.Tmp == "" && o.Old == "" })
	if err := inDirs(waiting, func(o op) int { return o.Dir }, c.clean); err != nil {
		return err
	}
	return c.dirs.sync()
}

// clean removes what waits in one directory.
func (c *cleaner) clean(ops []op) error {
	dir, err := c.dirs.openAgain(ops[0].Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, o := range ops {
		if err := c.remove(dir, o); err != nil {
			return err
		}
	}
	return nil
}

func (c *cleaner) remove(dir *os.File, o op) error {
	for _, name := range []string{o.Tmp, o.Old} {
		if name == "" {
			continue
		}
		if err := within.RemoveAll(dir, name, func() { c.step("clean: remove") }); err != nil {
			return err
		}
	}
	return nil
}
