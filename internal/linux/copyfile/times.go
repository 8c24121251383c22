package copyfile

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// SetTime gives a path a time of modification, a link its own.
func SetTime(path string, at time.Time) error {
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(at.UnixNano())}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, ts, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set time of %s: %w", path, err)
	}
	return nil
}

// Fifo makes a fifo.
func Fifo(path string, mode uint32) error {
	if err := unix.Mkfifo(path, mode); err != nil {
		return fmt.Errorf("make fifo %s: %w", path, err)
	}
	return nil
}
