package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxControlBytes bounds one read of a control file. The longest one read here is
// cgroup.procs; a million pids fit.
const maxControlBytes = 8 << 20

// openDir opens the directory name beneath parent.
func openDir(parent *os.File, name string) (*os.File, error) {
	var child *os.File
	err := withFD(parent, "open", name, func(fd int) error {
		n, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			child = os.NewFile(uintptr(n), filepath.Join(parent.Name(), name))
		}
		return err
	})
	return child, err
}

// openPath opens a group's directory by its path.
func openPath(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func mkdir(parent *os.File, name string) error {
	return withFD(parent, "mkdir", name, func(fd int) error { return unix.Mkdirat(fd, name, 0o755) })
}

// readControl reads the control file name of the group dir.
func readControl(dir *os.File, name string) (string, error) {
	var text string
	err := withFD(dir, "read", name, func(fd int) error {
		file, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(file)
		text, err = readAll(file)
		return err
	})
	return text, err
}

func readAll(fd int) (string, error) {
	var all []byte
	buf := make([]byte, 4096)
	for len(all) < maxControlBytes {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", err
		}
		if n == 0 {
			return string(all), nil
		}
		all = append(all, buf[:n]...)
	}
	return "", unix.EFBIG
}

// writeControl writes value in a single write, as control files demand.
func writeControl(dir *os.File, name, value string) error {
	return withFD(dir, "write", name, func(fd int) error {
		file, err := unix.Openat(fd, name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(file)
		for {
			_, err := unix.Write(file, []byte(value))
			if err != unix.EINTR {
				return err
			}
		}
	})
}

// withFD lends out dir's descriptor. Going through SyscallConn keeps a concurrent
// Close from handing the number to somebody else in the middle of f.
func withFD(dir *os.File, op, name string, f func(fd int) error) error {
	conn, err := dir.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return &os.PathError{Op: op, Path: filepath.Join(dir.Name(), name), Err: err}
	}
	if inner != nil {
		return &os.PathError{Op: op, Path: filepath.Join(dir.Name(), name), Err: inner}
	}
	return nil
}

// children lists the groups directly beneath dir; a group that is gone has none.
func children(dir *os.File) ([]string, error) {
	// A fresh description: two listings through one would share its offset.
	again, err := openDir(dir, ".")
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer again.Close()
	entries, err := again.ReadDir(-1)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// members lists the processes of dir and of every group beneath it, as the caller's
// pid namespace numbers them.
func members(dir *os.File) ([]int, error) {
	text, err := readControl(dir, "cgroup.procs")
	// ENODEV and ENOENT: the group was removed under an open descriptor.
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pids := parsePIDs(text)
	names, err := children(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		sub, err := openDir(dir, name)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return nil, err
		}
		more, err := members(sub)
		_ = sub.Close() // opened for reading only
		if err != nil {
			return nil, err
		}
		pids = append(pids, more...)
	}
	return pids, nil
}

func parsePIDs(text string) []int {
	var pids []int
	for _, field := range strings.Fields(text) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// keyed returns the number after key in a flat keyed file such as cgroup.events.
func keyed(text, key string) (int64, bool) {
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || name != key {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		return n, err == nil
	}
	return 0, false
}
