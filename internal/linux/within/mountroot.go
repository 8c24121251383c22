package within

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsMountRoot reports whether an open directory is where a filesystem is
// mounted (Linux 5.8).
func IsMountRoot(f *os.File) bool {
	var st unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, 0, &st)
	return err == nil && st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
