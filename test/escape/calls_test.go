package escape

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call makes a system call and wraps what it was refused with.
func call(number uintptr, args ...uintptr) error {
	_, err := value(number, args...)
	return err
}

// value is call for those whose result matters.
func value(number uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return r, fmt.Errorf("call %d: %w", number, errno)
	}
	return r, nil
}

// reached counts an answer that only the kernel behind the filter gives as a
// success: the call got through to the code the filter keeps programs from.
func reached(err error, answers ...syscall.Errno) error {
	for _, e := range answers {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// pointer is for arguments; the caller keeps the value alive.
func pointer[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func text(s string) *byte {
	b := append([]byte(s), 0)
	return &b[0]
}

// refused is a denial the kernel does not express as a failed call.
func refused(errno syscall.Errno, format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), errno)
}

// nothing says that the attempt was taken and came to nothing.
func nothing(format string, args ...any) error { return refused(unix.ENODATA, format, args...) }

// initThreads are the thread ids of PID 1, itself included.
func initThreads() []int {
	tids := []int{1}
	entries, _ := os.ReadDir("/proc/1/task") // PID 1 alone is worth attacking too
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil && tid != 1 {
			tids = append(tids, tid)
		}
	}
	return tids
}

// read reads one byte of a file: opening alone proves nothing in /proc.
func read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var b [1]byte
	_, err = f.Read(b[:])
	if errors.Is(err, io.EOF) {
		return nothing("read %s: empty", path)
	}
	return err
}
