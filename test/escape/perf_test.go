package escape

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func perf() attack {
	return attack{
		Class: kernelClass, Name: "perf-event",
		Attack: "count events with perf_event_open",
		Proves: "no perf, the source of many kernel bugs",
		Run: func() error {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
			attr.Size = uint32(unsafe.Sizeof(attr))
			fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"perf_event_open"},
	}
}
