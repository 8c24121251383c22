// Package memfd keeps programs in memory: sealed, executable, without a file
// that could be overwritten through /proc/PID/exe (CVE-2019-5736).
package memfd

import (
	"os"

	"golang.org/x/sys/unix"
)

// Program copies a program into a sealed memory file. The descriptor is
// close-on-exec and has a high number, out of the way of the descriptors a
// child is given.
func Program(name string, code []byte) (*os.File, error) {
	fd, err := create(name)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(code); err != nil {
		f.Close()
		return nil, err
	}
	if err := seal(f); err != nil {
		f.Close()
		return nil, os.NewSyscallError("seal", err)
	}
	return high(f)
}

// seal freezes content and, from Linux 6.3, also the execute permission: a
// program that runs from the file under the same uid could otherwise take it
// away from everybody else with chmod through /proc/PID/exe.
func seal(f *os.File) error {
	const content = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	err := addSeals(f, content|unix.F_SEAL_EXEC)
	if err == unix.EINVAL {
		err = addSeals(f, content)
	}
	return err
}

// sealTries bounds how often a busy file is tried again. The kernel itself
// waits up to 150 ms each time.
const sealTries = 40

// addSeals tries again while pages of the file are busy: F_SEAL_WRITE answers
// EBUSY when somebody holds a reference to one of them for longer than the
// kernel waits (memfd_wait_for_pins). Nobody else has the file; the holders are
// the kernel's own, compaction and reclaim, and on a loaded machine they are
// slow but do let go.
func addSeals(f *os.File, seals int) error {
	var err error
	for range sealTries {
		if _, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != unix.EBUSY {
			break
		}
	}
	return err
}

// create asks for an executable memory file; kernels before 6.3 do not know the
// word and always make one.
func create(name string) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if err == unix.EINVAL {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	return fd, err
}

func high(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 100)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
