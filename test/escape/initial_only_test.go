package escape

import (
	"golang.org/x/sys/unix"
)

func initialOnly() attack {
	return attack{
		Class: kernelClass, Name: "host-only-calls",
		Attack: "load a kernel or a module, add swap, set the clock, reach ports, account processes",
		Proves: "calls that act on the whole machine are closed",
		Run: func() error {
			var a attempts
			var b [64]byte
			p := pointer(&b)
			for _, c := range []struct {
				name   string
				number uintptr
				args   []uintptr
			}{
				{"kexec_load", unix.SYS_KEXEC_LOAD, nil},
				{"init_module", unix.SYS_INIT_MODULE, []uintptr{p, 64, p}},
				{"finit_module", unix.SYS_FINIT_MODULE, []uintptr{0, p, 0}},
				{"delete_module", unix.SYS_DELETE_MODULE, []uintptr{pointer(text("none")), unix.O_NONBLOCK}},
				{"swapon", unix.SYS_SWAPON, []uintptr{pointer(text("/tmp/none")), 0}},
				{"swapoff", unix.SYS_SWAPOFF, []uintptr{pointer(text("/tmp/none"))}},
				{"settimeofday", unix.SYS_SETTIMEOFDAY, []uintptr{p, 0}},
				{"clock_settime", unix.SYS_CLOCK_SETTIME, []uintptr{0, p}},
				{"acct", unix.SYS_ACCT, []uintptr{pointer(text("/tmp/none"))}},
				{"iopl", unix.SYS_IOPL, []uintptr{3}},
				{"ioperm", unix.SYS_IOPERM, []uintptr{0x80, 1, 1}},
				{"vhangup", unix.SYS_VHANGUP, nil},
			} {
				a.try(c.name, call(c.number, c.args...))
			}
			return a.result()
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"kexec_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff", "settimeofday", "clock_settime", "acct", "iopl", "ioperm", "vhangup", "bounding"},
		Second: "user namespace: needs the capability in the initial one, or a kernel without the call", SecondErrno: errnos(unix.EPERM, unix.ENOSYS),
	}
}
