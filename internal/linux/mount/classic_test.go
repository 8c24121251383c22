package mount

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestClassic: what comes back must be the new filesystem, not the directory it
// was attached to for a moment.
func TestClassic(t *testing.T) {
	if !inside(t) {
		return
	}
	at := t.TempDir()
	before := mounts(t)
	m, err := Classic("tmpfs", "mode=0751,size=64k", ReadOnly|NoSuid, dir(t, at))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if after := mounts(t); after != before {
		t.Errorf("something stays attached:\n%s", strings.TrimPrefix(after, before))
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(m.Fd()), &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		t.Errorf("not the filesystem that was asked for: type %#x, %v", fs.Type, err)
	}
	if st, err := m.Stat(); err != nil || st.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if _, err := unix.Openat(int(m.Fd()), "new", unix.O_CREAT|unix.O_WRONLY, 0o600); err != unix.EROFS {
		t.Errorf("read-only: %v", err)
	}
}
