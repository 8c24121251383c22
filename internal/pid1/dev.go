package pid1

import (
	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/mount"
)

// mountDev makes a /dev with the harmless devices and nothing else. It must be
// 0755: on a sticky world-writable directory, opening a bound device with
// O_CREAT is EACCES (fs.protected_regular).
func (b *builder) mountDev() error {
	m, err := mount.New("tmpfs", mount.NoSuid|mount.NoExec,
		mount.Option{Key: "mode", Value: "0755"}, mount.Option{Key: "size", Value: "64k"})
	if err != nil {
		return err
	}
	defer m.Close()
	if err := b.attach(int(m.Fd()), "/dev"); err != nil {
		return err
	}
	dev := int(m.Fd())
	for _, step := range []func(int) error{bindDevices, linkDevices, b.mountPts, b.mountShm, mountQueues} {
		if err := step(dev); err != nil {
			return err
		}
	}
	return nil
}

// bindDevices borrows the host's nodes: nobody can make device nodes in a user
// namespace.
func bindDevices(dev int) error {
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if err := bindDevice(dev, name); err != nil {
			return fail("bind device", "/dev/"+name, err)
		}
	}
	return nil
}

func bindDevice(dev int, name string) error {
	m, err := mount.Clone(unix.AT_FDCWD, "/dev/"+name, false)
	if err != nil {
		return err
	}
	defer m.Close()
	dst, err := descend(dev, name, false)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	return mount.Attach(int(m.Fd()), dst)
}

func linkDevices(dev int) error {
	links := [][2]string{
		{"/proc/self/fd", "fd"},
		{"/proc/self/fd/0", "stdin"},
		{"/proc/self/fd/1", "stdout"},
		{"/proc/self/fd/2", "stderr"},
		{"pts/ptmx", "ptmx"},
	}
	for _, l := range links {
		if err := unix.Symlinkat(l[0], dev, l[1]); err != nil {
			return fail("link device", "/dev/"+l[1], err)
		}
	}
	return nil
}

// mountOn makes a filesystem on a directory of dev.
func mountOn(dev int, name, fstype string, attrs int, opts ...mount.Option) error {
	m, err := mount.New(fstype, attrs, opts...)
	if err != nil {
		return fail("mount "+fstype, "/dev/"+name, err)
	}
	defer m.Close()
	dst, err := descend(dev, name, true)
	if err != nil {
		return fail("mount "+fstype, "/dev/"+name, err)
	}
	defer unix.Close(dst)
	return fail("attach", "/dev/"+name, mount.Attach(int(m.Fd()), dst))
}

// mountPts gives the sandbox terminals of its own (always a new instance). All
// sandboxes share the kernel's 3072 (kernel.pty.max without the reserve of the
// host), so one of them may not have them all.
func (b *builder) mountPts(dev int) error {
	return mountOn(dev, "pts", "devpts", mount.NoSuid|mount.NoExec, mount.Option{Key: "max", Value: "512"},
		mount.Option{Key: "ptmxmode", Value: "0666"}, mount.Option{Key: "mode", Value: "0620"})
}

func (b *builder) mountShm(dev int) error {
	return mountOn(dev, "shm", "tmpfs", mount.NoSuid|mount.NoDev, mount.Option{Key: "mode", Value: "1777"})
}

// mountQueues shows the POSIX message queues of this ipc namespace.
func mountQueues(dev int) error {
	return mountOn(dev, "mqueue", "mqueue", mount.NoSuid|mount.NoDev|mount.NoExec)
}
