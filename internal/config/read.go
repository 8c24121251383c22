package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// maxFile is far more than a person writes.
const maxFile = 1 << 20

// errForeign is a file that belongs to somebody else.
type errForeign struct{ uid int }

func (e *errForeign) Error() string {
	return fmt.Sprintf("belongs to uid %d, neither to you nor to root", e.uid)
}

// readOwned reads a file of ours or of root. Both the name and what it leads to
// must be: a symbolic link of somebody else may lead to any file of ours. The
// owner is asked of the open file, so that it is the one that is read.
func readOwned(name string, uid int) ([]byte, error) {
	link, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := checkOwner(link, uid); err != nil {
		return nil, err
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkOwner(st, uid); err != nil {
		return nil, err
	}
	return readAll(f, st)
}

// readAny reads a file that was named by the person, whoever owns it.
func readAny(name string) ([]byte, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return readAll(f, st)
}

// open does not wait for the writer of a fifo.
func open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
}

func readAll(f *os.File, st os.FileInfo) ([]byte, error) {
	if !st.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("is larger than %d bytes", maxFile)
	}
	return data, err
}

func checkOwner(st os.FileInfo, uid int) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || int(sys.Uid) == uid || sys.Uid == 0 {
		return nil
	}
	return &errForeign{int(sys.Uid)}
}

// cause drops the path from an os error: the message has it already.
func cause(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// UserDir is where a person's files are: $XDG_CONFIG_HOME/coop or
// ~/.config/coop, or nowhere for who has no home. A relative XDG_CONFIG_HOME is
// to be ignored, as its specification says.
func UserDir(home string) string {
	base := os.Getenv("XDG_CONFIG_HOME")
	switch {
	case filepath.IsAbs(base):
		return filepath.Join(base, "coop")
	case home == "":
		return ""
	}
	return filepath.Join(home, ".config", "coop")
}
