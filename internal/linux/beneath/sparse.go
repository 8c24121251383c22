package beneath

import (
	"os"

	"golang.org/x/sys/unix"
)

// Data finds where the next bytes that are not a hole begin, at or after off; at
// the end of the file and where holes are not known it is off itself or size.
func Data(f *os.File, off, size int64) int64 {
	at, err := unix.Seek(int(f.Fd()), off, unix.SEEK_DATA)
	switch {
	case err == unix.ENXIO: // nothing but a hole up to the end
		return size
	case err != nil:
		return off
	}
	return at
}

// Hole finds where the data at off ends.
func Hole(f *os.File, off, size int64) int64 {
	at, err := unix.Seek(int(f.Fd()), off, unix.SEEK_HOLE)
	if err != nil || at <= off {
		return size
	}
	return at
}
