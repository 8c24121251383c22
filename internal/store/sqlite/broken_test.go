package sqlite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

func TestDamagedFile(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"garbage":            func(b []byte) []byte { return bytes.Repeat([]byte("coop"), 4096) },
		"a few bytes":        func(b []byte) []byte { return b[:70] },
		"half written":       func(b []byte) []byte { return b[:len(b)/2] },
		"one page":           func(b []byte) []byte { return b[:4096] },
		"schema overwritten": func(b []byte) []byte { return append(b[:100:100], bytes.Repeat([]byte{0xff}, len(b)-100)...) },
		"rows overwritten":   func(b []byte) []byte { return append(b[:4096:4096], bytes.Repeat([]byte{0xff}, len(b)-4096)...) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "coop.db")
			s := reopen(t, path)
			for n := range 100 {
				put(t, s, n)
			}
			closed(t, s)
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			broken := damage(whole)
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err = Open(t.Context(), path, Options{})
			if err == nil { // damage outside the schema shows when it is read
				defer s.Close() //nolint:errcheck // not what is tested
				_, err = s.List(t.Context(), store.Filter{})
			}
			wantUnavailable(t, err, "database "+path+": damaged", "move "+path)
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, broken) {
				t.Errorf("the damaged file was changed: %v", err)
			}
		})
	}
}

func TestNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path, message string
	}{
		"missing":              {filepath.Join(filepath.Dir(file), "no", "coop.db"), "no such file or directory"},
		"a file in its place":  {filepath.Join(file, "coop.db"), "not a directory"},
		"a zero byte in it":    {"/a\x00b", "invalid argument"},
		"longer than any path": {"/" + string(bytes.Repeat([]byte("a"), 300)), "file name too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), c.path, Options{})
			wantUnavailable(t, err, "cannot be opened for writing: "+c.message, "directory of "+c.path)
		})
	}
}

func TestReadOnlyHome(t *testing.T) {
	if !inMountNamespace(t) {
		return
	}
	dir := smallDisk(t)
	path := filepath.Join(dir, "coop.db")
	s := reopen(t, path)
	put(t, s, 1)
	closed(t, s)
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path, Options{})
	wantUnavailable(t, err, "cannot be opened for writing", path)
	_, err = Open(t.Context(), path+"2", Options{})
	wantUnavailable(t, err, "cannot be opened for writing: read-only file system", path)
}

// TestReadOnlyFile is a file that another user owns. Root may write anything,
// so the child gives up the capability by being somebody else.
func TestReadOnlyFile(t *testing.T) {
	path := os.Getenv("COOP_TEST_READONLY")
	if path != "" {
		_, err := Open(t.Context(), path, Options{})
		wantUnavailable(t, err, "cannot be opened for writing", path)
		return
	}
	dir := t.TempDir()
	path = filepath.Join(dir, "coop.db")
	s := reopen(t, path)
	closed(t, s)
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		_, err := Open(t.Context(), path, Options{})
		wantUnavailable(t, err, "cannot be opened for writing", path)
		return
	}
	const nobody = 65534
	if err := os.Chown(path, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	child := again(t, "COOP_TEST_READONLY="+path)
	child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	runs(t, child)
}

// TestFullDisk fills a real file system: what was written stays, what did not
// fit is refused as a whole, and with space again everything goes on.
func TestFullDisk(t *testing.T) {
	if !inMountNamespace(t) {
		return
	}
	dir := smallDisk(t)
	path := filepath.Join(dir, "coop.db")
	s := reopen(t, path)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 256<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	written, err := fill(t, s)
	wantUnavailable(t, err, "database "+path+": disk full", "free some space")
	wantCounts(t, s, written)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	put(t, s, written)
	closed(t, s)
	wantCounts(t, reopen(t, path), written+1)
}

// TestFullDatabase provokes the same result without a file system, where
// mounting is not possible.
func TestFullDatabase(t *testing.T) {
	s := reopen(t, filepath.Join(t.TempDir(), "coop.db"))
	if _, err := s.writer.Exec(`PRAGMA max_page_count = 40`); err != nil {
		t.Fatal(err)
	}
	written, err := fill(t, s)
	wantUnavailable(t, err, "disk full", "free some space")
	wantCounts(t, s, written)
}

func TestFullDiskAtOpen(t *testing.T) {
	if !inMountNamespace(t) {
		return
	}
	dir := smallDisk(t)
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // full
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	_, err = Open(t.Context(), filepath.Join(dir, "coop.db"), Options{})
	wantUnavailable(t, err, "disk", dir)
}

// fill creates until an error and gives the number that were acknowledged.
func fill(t *testing.T, s *Store) (int, error) {
	t.Helper()
	for n := range 100000 {
		if err := s.Create(t.Context(), box(n), sandbox.AuditEntry{Event: "create"}); err != nil {
			return n, err
		}
	}
	return 0, errors.New("it never filled up")
}

// wantCounts checks that there are n records, and an audit line for each.
func wantCounts(t *testing.T, s *Store, n int) {
	t.Helper()
	page, err := s.List(t.Context(), store.Filter{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := s.Audit(t.Context(), "", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Records) != n || len(lines) != n || n == 0 {
		t.Fatalf("%d records and %d audit lines for %d acknowledged writes", len(page.Records), len(lines), n)
	}
}

// smallDisk is a file system of one megabyte that nobody else sees.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// inMountNamespace runs the calling test again in a process that has mounts
// of its own, and reports false; in that process it reports true.
func inMountNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv("COOP_TEST_MOUNTS") != "" {
		return true
	}
	child := again(t, "COOP_TEST_MOUNTS=1")
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		child.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
	}
	runs(t, child)
	return false
}

// again is the calling test as a command of its own.
func again(t *testing.T, env string) *exec.Cmd {
	t.Helper()
	// The link and not the path it shows: a child that is somebody else may
	// not be able to walk to go's build directory.
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), env)
	return cmd
}

func runs(t *testing.T, child *exec.Cmd) {
	t.Helper()
	out, err := child.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) && os.Getenv("CI") == "" {
		t.Skipf("needs namespaces or another user: %v", err)
	}
	if err != nil {
		t.Fatalf("in the child: %v\n%s", err, out)
	}
}
