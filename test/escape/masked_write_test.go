package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

func maskedWrite() attack {
	return attack{
		Class: runtimeClass, Name: "kernel-levers", CVE: "CVE-2025-52881",
		Attack: "write core_pattern, sysrq-trigger, modprobe, uevent_helper, binfmt_misc, release_agent and other levers of the kernel",
		Proves: "nothing that acts on the whole host can be written",
		Run: func() error {
			var a attempts
			for _, p := range []string{
				"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/sysrq",
				"/proc/sys/vm/drop_caches", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/kernel/hostname",
				"/proc/sysrq-trigger", "/proc/acpi/wakeup", "/proc/irq/default_smp_affinity",
				"/sys/kernel/uevent_helper", "/sys/kernel/profiling", "/sys/power/state",
				"/sys/fs/cgroup/release_agent", "/sys/firmware/acpi/pm_profile", "/sys/kernel/mm/ksm/run",
				"/sys/module/kernel/parameters/panic", "/sys/kernel/security/lockdown", "/sys/devices/system/cpu/cpu1/online",
			} {
				f, err := os.OpenFile(p, os.O_WRONLY, 0) // opening is the permission; writing could do harm
				if err == nil {
					err = f.Close()
				}
				a.try(p, err)
			}
			return a.result()
		},
		Denied: errnos(unix.EROFS, unix.EACCES, unix.ENOENT),
		Fence:  []string{"mask"},
		Second: "user namespace: these files belong to host root, and sysfs is mounted read-only", SecondErrno: errnos(unix.EACCES, unix.EROFS, unix.ENOENT, unix.EPERM),
	}
}
