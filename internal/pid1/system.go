package pid1

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/mount"
)

// mountNew makes a filesystem and attaches it beneath the new root.
func (b *builder) mountNew(fstype, target string, attrs int, opts ...mount.Option) error {
	m, err := mount.New(fstype, attrs, opts...)
	if err != nil {
		return fail("mount "+fstype, target, err)
	}
	defer m.Close()
	return fail("attach", target, b.attach(int(m.Fd()), target))
}

// mountProc shows the processes of this pid namespace only.
func (b *builder) mountProc() error {
	return b.mountNew("proc", "/proc", mount.NoSuid|mount.NoDev|mount.NoExec)
}

// mountSys shows sysfs, read-only. Without a network namespace of its own a
// sandbox may not mount one; then the host's is bound.
func (b *builder) mountSys() error {
	const attrs = mount.ReadOnly | mount.NoSuid | mount.NoDev | mount.NoExec
	if b.setup.OwnNet {
		return b.mountNew("sysfs", "/sys", attrs)
	}
	m, err := mount.Clone(unix.AT_FDCWD, "/sys", true)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := mount.SetAttr(int(m.Fd()), true, attrs); err != nil {
		return err
	}
	return b.attach(int(m.Fd()), "/sys")
}

// mountTmp gives the sandbox scratch space that is gone with it.
func (b *builder) mountTmp() error {
	opts := []mount.Option{{Key: "mode", Value: "1777"}}
	if b.setup.TmpBytes > 0 {
		opts = append(opts, mount.Option{Key: "size", Value: strconv.FormatInt(b.setup.TmpBytes, 10)})
	}
	return b.mountNew("tmpfs", "/tmp", mount.NoSuid|mount.NoDev, opts...)
}
