package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/coop-dev/coop/internal/sandbox"
)

// makeHome makes COOP_HOME, private to its user.
func makeHome(home string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return explainHome(home, err)
	}
	st, err := os.Stat(home)
	if err != nil {
		return explainHome(home, err)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return sandbox.Errorf(sandbox.Unavailable, "COOP_HOME %s belongs to uid %d, not to you", home, sys.Uid).
			WithHint("set COOP_HOME to a directory you own")
	}
	if st.Mode().Perm()&0o077 != 0 {
		if err := closeHome(home); err != nil {
			return err
		}
	}
	probe, err := os.CreateTemp(home, ".writable-")
	if err != nil {
		return explainHome(home, err)
	}
	_ = probe.Close()
	return explainHome(home, os.Remove(probe.Name()))
}

// closeHome makes a directory private that is ours or empty. Another one, /tmp for
// instance, is not ours to close.
func closeHome(home string) error {
	names, err := os.ReadDir(home)
	if err != nil {
		return explainHome(home, err)
	}
	ours := len(names) == 0
	for _, n := range names {
		ours = ours || n.Name() == "daemon.lock" || n.Name() == "coop.db"
	}
	if !ours {
		return sandbox.Errorf(sandbox.Unavailable, "COOP_HOME %s is open to others and holds files that are not Coop's", home).
			WithHint("set COOP_HOME to a directory of its own")
	}
	return explainHome(home, os.Chmod(home, 0o700))
}

func explainHome(home string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return sandbox.Errorf(sandbox.Unavailable, "COOP_HOME %s: the disk is full", home).
			WithHint("free some space, or set COOP_HOME to another disk")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return sandbox.Errorf(sandbox.Unavailable, "COOP_HOME %s is not writable: %w", home, err).
			WithHint("set COOP_HOME to a directory you own")
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return sandbox.Errorf(sandbox.Unavailable, "COOP_HOME %s is not a directory", home).
			WithHint("set COOP_HOME to a directory you own")
	}
	return sandbox.Errorf(sandbox.Unavailable, "COOP_HOME %s: %w", home, err).
		WithHint("set COOP_HOME to a directory you own")
}

const maxLog = 8 << 20

// openLog opens daemon.log, keeping one predecessor when it has grown.
func openLog(home string) (*os.File, error) {
	name := filepath.Join(home, "daemon.log")
	if st, err := os.Stat(name); err == nil && st.Size() > maxLog {
		_ = os.Rename(name, name+".1") // at worst the file goes on growing
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return f, explainHome(home, err)
}
