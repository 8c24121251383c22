package pid1

import (
	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/mount"
)

// maskedPaths hold facts about the host or levers of its kernel that no program
// needs. What does not exist on this kernel is passed over.
func maskedPaths() []string {
	return []string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/key-users",
		"/proc/kpagecount", "/proc/kpageflags", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
		"/proc/sysrq-trigger", "/proc/timer_list", "/proc/timer_stats", "/proc/vmallocinfo", "/proc/kmsg",
		"/sys/firmware", "/sys/fs/cgroup", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security",
		"/sys/fs/bpf", "/sys/fs/pstore", "/sys/devices/virtual/powercap",
	}
}

// readonlyPaths stay readable but not writable, even for a program that would
// somehow get a capability back.
func readonlyPaths() []string {
	return []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"}
}

// mask hides and protects. One empty read-only directory and one /dev/null are
// cloned onto all places, by descriptor: no link is followed, neither on the way
// nor at the end (CVE-2025-31133, CVE-2025-52881).
func (b *builder) mask() error {
	return b.optional("mask", b.maskAll())
}

func (b *builder) maskAll() error {
	empty, err := mount.New("tmpfs", mount.ReadOnly|mount.NoSuid|mount.NoDev|mount.NoExec,
		mount.Option{Key: "mode", Value: "0555"}, mount.Option{Key: "size", Value: "4k"}, mount.Option{Key: "nr_inodes", Value: "2"})
	if err != nil {
		return err
	}
	defer empty.Close()
	for _, p := range maskedPaths() {
		if err := maskPath(p, int(empty.Fd())); err != nil {
			return fail("mask", p, err)
		}
	}
	for _, p := range readonlyPaths() {
		if err := protect(p); err != nil {
			return fail("read-only", p, err)
		}
	}
	return nil
}

// openExact opens a path without following any link; -1 means it is not there.
func openExact(p string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return -1, nil
	}
	return fd, err
}

func maskPath(p string, empty int) error {
	dst, err := openExact(p)
	if err != nil || dst < 0 {
		return err
	}
	defer unix.Close(dst)
	from, path := empty, ""
	if !isDir(dst) {
		from, path = unix.AT_FDCWD, "/dev/null"
	}
	cover, err := mount.Clone(from, path, false)
	if err != nil {
		return err
	}
	defer cover.Close()
	return mount.Attach(int(cover.Fd()), dst)
}

func protect(p string) error {
	dst, err := openExact(p)
	if err != nil || dst < 0 {
		return err
	}
	defer unix.Close(dst)
	cover, err := mount.Clone(dst, "", true)
	if err != nil {
		return err
	}
	defer cover.Close()
	if err := mount.SetAttr(int(cover.Fd()), true, mount.ReadOnly|mount.NoSuid|mount.NoDev|mount.NoExec); err != nil {
		return err
	}
	return mount.Attach(int(cover.Fd()), dst)
}
