package volume

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/beneath"
	"github.com/coop-dev/coop/internal/linux/filestat"
	"github.com/coop-dev/coop/internal/sandbox"
)

// HostPath is a file or directory of the host that may be shown to a sandbox. It
// was opened once, through no link; whoever mounts it uses that descriptor, so
// that what was checked is what is used.
type HostPath struct {
	File     *os.File // O_PATH
	Path     string
	Dir      bool
	UID, GID uint32
}

// Close lets go of it.
func (h *HostPath) Close() error { return h.File.Close() }

// OpenHost opens a path for a sandbox that uid, as this process counts, asks for.
// home is COOP_HOME. It refuses
//
//	links anywhere in the path        the sandbox's next start might be led elsewhere
//	what does not belong to uid       the daemon may be able to read it, who asks may not
//	Coop's own state, and above it    renaming a directory above would uncover it
//	sockets, fifos and devices        they talk to programs of the host
//	the kernel's filesystems          /proc, /sys, /dev
func OpenHost(path, home string, uid uint32) (*HostPath, error) {
	root, err := os.Open("/")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := beneath.Path(root, strings.TrimPrefix(path, "/"))
	if err != nil {
		return nil, explainHost(path, err)
	}
	info, err := beneath.Opened(f)
	if err == nil {
		err = checkHost(path, home, uid, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &HostPath{File: f, Path: path, Dir: info.Mode.IsDir(), UID: info.UID, GID: info.GID}, nil
}

func checkHost(path, home string, uid uint32, info beneath.Info) error {
	switch {
	case info.Mode&fs.ModeSymlink != 0:
		return linked(path)
	case !info.Mode.IsDir() && !info.Mode.IsRegular():
		return sandbox.Errorf(sandbox.Denied, "%s is neither a directory nor a regular file", path).
			WithHint("sockets and devices of the host are not given to sandboxes")
	case below(path, "/proc") || below(path, "/sys") || below(path, "/dev"):
		return sandbox.Errorf(sandbox.Denied, "%s is part of the kernel", path).WithHint("name a directory or file of your own")
	}
	// Before the owner: whoever asks for Coop's own state should hear that.
	if err := checkHome(path, home, info); err != nil {
		return err
	}
	if info.UID != uid {
		return sandbox.Errorf(sandbox.Denied, "%s does not belong to you", path).
			WithHint("only what you own can be mounted; copy it, or use an image that has it")
	}
	return nil
}

// checkHome compares paths and also what they are: one of the two may be seen a
// second time through a bind mount.
func checkHome(path, home string, info beneath.Info) error {
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		return err
	}
	inside, around := below(path, real), below(real, path)
	state, err := filestat.At(real)
	if err != nil {
		return err
	}
	for dir := path; !inside; dir = filepath.Dir(dir) {
		st, err := filestat.At(dir)
		inside = err == nil && st.Same(state)
		if dir == "/" {
			break
		}
	}
	for dir := real; !around; dir = filepath.Dir(dir) {
		st, err := filestat.At(dir)
		around = err == nil && st.Dev == info.Dev && st.Ino == info.Ino
		if dir == "/" {
			break
		}
	}
	switch {
	case inside:
		return sandbox.Errorf(sandbox.Denied, "%s lies inside COOP_HOME %s", path, real).
			WithHint("Coop's own state is not given to sandboxes; for a volume name it without a path")
	case around:
		return sandbox.Errorf(sandbox.Denied, "%s contains COOP_HOME %s", path, real).
			WithHint("choose a directory below it, or set COOP_HOME to a place outside of it")
	}
	return nil
}

// CheckWritable refuses to let a sandbox write Coop's own configuration: what it
// says is done by the next command of the host. dir is where that lies.
func (h *HostPath) CheckWritable(dir string) error {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if below(h.Path, dir) || below(dir, h.Path) {
		return sandbox.Errorf(sandbox.Denied, "%s cannot be writable: %s is Coop's own configuration", h.Path, dir).
			WithHint("mount it read-only, or a directory beside it")
	}
	return nil
}

// below reports whether p is dir or lies below it: /ab is not below /a.
func below(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

func linked(path string) error {
	e := sandbox.Errorf(sandbox.Denied, "%s leads through a symbolic link", path).WithHint("name the place it leads to")
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return e.WithHint("name the place it leads to: %s", real)
	}
	return e
}

func explainHost(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return sandbox.Errorf(sandbox.Invalid, "%s does not exist", path).WithHint("make it first, or leave the mount out")
	case errors.Is(err, syscall.ELOOP):
		return linked(path)
	case errors.Is(err, fs.ErrPermission):
		return sandbox.Errorf(sandbox.Denied, "%s cannot be reached: %w", path, err).WithHint("name a directory or file of your own")
	}
	return sandbox.Errorf(sandbox.Invalid, "%s: %w", path, err)
}
