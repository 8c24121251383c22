// Package overlay makes copy-on-write trees with the kernel's overlayfs, as
// detached mounts: nothing is ever attached in the daemon's own namespace, so a
// dead daemon leaves no mount behind.
//
// It owns the options; what the layers are is decided by its callers.
package overlay

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/mount"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Layers of one tree, the lowers topmost first. Without Upper it is read-only and
// needs two lowers.
type Layers struct {
	Lowers      []*os.File
	Upper, Work *os.File
}

// Options differ between real root and a user namespace: there the kernel keeps
// its notes in user.* attributes, and cannot redirect renamed directories.
type Options struct {
	UserXattr bool
	// NoRedirect makes a rename of a directory of a lower layer EXDEV, as it is
	// in a user namespace: programs then copy. Otherwise the files of a renamed
	// directory stay where they were in the lower layer, and vanish for the
	// sandbox when somebody renames or removes them there.
	NoRedirect bool
}

// Mount makes the tree. Programs in it gain nothing from setuid bits or device
// nodes.
func Mount(l Layers, o Options) (*os.File, error) {
	const attrs = mount.NoSuid | mount.NoDev
	m, err := mount.New("overlay", attrs, options(l, o)...)
	if errors.Is(err, syscall.EINVAL) && len(l.Lowers) > 0 {
		// Before 6.8 the kernel does not know "lowerdir+".
		m, err = mountClassic(l, o, attrs)
	}
	if err != nil {
		return nil, explain(l, err)
	}
	return m, nil
}

func options(l Layers, o Options) []mount.Option {
	opts := common(o)
	for _, f := range l.Lowers {
		opts = append(opts, mount.Option{Key: "lowerdir+", Value: path(f)})
	}
	if l.Upper == nil {
		return opts
	}
	return append(opts,
		mount.Option{Key: "upperdir", Value: path(l.Upper)},
		mount.Option{Key: "workdir", Value: path(l.Work)})
}

func common(o Options) []mount.Option {
	if o.UserXattr {
		return []mount.Option{{Key: "userxattr"}}
	}
	redirect := "on"
	if o.NoRedirect {
		redirect = "follow"
	}
	return []mount.Option{{Key: "redirect_dir", Value: redirect}, {Key: "metacopy", Value: "off"}}
}

// mountClassic uses mount(2), whose one option string takes all lowers.
func mountClassic(l Layers, o Options, attrs int) (*os.File, error) {
	var lowers, data []string
	for _, f := range l.Lowers {
		lowers = append(lowers, number(f))
	}
	for _, opt := range common(o) {
		data = append(data, strings.TrimSuffix(opt.Key+"="+opt.Value, "="))
	}
	data = append(data, "lowerdir="+strings.Join(lowers, ":"))
	at := l.Lowers[len(l.Lowers)-1]
	if l.Upper != nil {
		at = l.Work
		data = append(data, "upperdir="+number(l.Upper), "workdir="+number(l.Work))
	}
	return mount.Classic("overlay", strings.Join(data, ","), attrs, at)
}

func path(f *os.File) string { return mount.FDPath(int(f.Fd())) }

// number is the shortest path of a descriptor; see mount.Classic.
func number(f *os.File) string { return strconv.Itoa(int(f.Fd())) }

// explain gives the refusals people meet a sentence and a way out.
func explain(l Layers, err error) error {
	for _, f := range l.Lowers {
		if m := mount.Below(f.Name()); m != "" && errors.Is(err, syscall.EINVAL) {
			return sandbox.Errorf(sandbox.Unavailable, "%s is a mount of its own below %s: %w", m, f.Name(), err).
				WithHint("an ordinary user's overlay cannot lie over it: choose another workspace or --mode bind; for /usr and /opt run coop as root")
		}
	}
	switch {
	case errors.Is(err, syscall.EINVAL):
		return sandbox.Errorf(sandbox.Unavailable, "overlayfs refuses this filesystem: %w", err).
			WithHint("COOP_HOME must be on a filesystem such as ext4, xfs, btrfs or tmpfs, not on an overlay (a container's own root) or NFS; set COOP_HOME to one that is")
	case errors.Is(err, syscall.EPERM):
		return sandbox.Errorf(sandbox.Unavailable, "overlayfs is not allowed in a user namespace: %w", err).
			WithHint("this needs Linux 5.11 or later; run coop doctor")
	case errors.Is(err, syscall.ENODEV):
		return sandbox.Errorf(sandbox.Unavailable, "this kernel has no overlayfs: %w", err).
			WithHint("load it with modprobe overlay")
	case errors.Is(err, syscall.ELOOP):
		return sandbox.Errorf(sandbox.Invalid, "the workspace contains COOP_HOME: %w", err).
			WithHint("choose a directory below it, or set COOP_HOME to a place outside of the workspace")
	case errors.Is(err, syscall.ENOSPC):
		return sandbox.Errorf(sandbox.Unavailable, "no space left for the sandbox: %w", err).
			WithHint("free some space where COOP_HOME is, or remove sandboxes with coop rm")
	}
	return err
}
