package probe

import (
	"context"
	"os"

	"github.com/coop-dev/coop/internal/linux/copyfile"
)

// copying says what a workspace costs that is copied, because overlayfs cannot
// lie over its project or because --driver copy asks for it.
func (h *host) copying(context.Context) Check {
	c := Check{Name: "copy-driver", OK: true}
	above := existing(h.home)
	cloned, err := tryClone(above)
	switch {
	case err != nil:
		c.OK, c.Detail, c.Hint = false, err.Error(), "set COOP_HOME to a directory of your own"
	case cloned:
		c.Detail = "a workspace that must be copied shares its blocks (reflink)"
	default:
		c.Detail = "a workspace that must be copied is copied whole: " + filesystem(above) + " shares no blocks"
	}
	return c
}

func tryClone(dir string) (bool, error) {
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp(dir, ".coop-probe-")
		if err != nil {
			return false, err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		files[i] = f
	}
	if _, err := files[0].WriteString("a block"); err != nil {
		return false, err
	}
	return copyfile.Clone(files[1], files[0])
}
