package within

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree is a directory with a file, a link out of it and a fifo.
func tree(t *testing.T) (*os.File, string) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "d", "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "d", "f"), []byte("text"), 0o640))
	must(t, os.Symlink("/etc", filepath.Join(dir, "out")))
	must(t, os.Symlink("d", filepath.Join(dir, "in")))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	f, err := os.Open(dir)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f, dir
}

func TestNothingLeadsOut(t *testing.T) {
	root, _ := tree(t)
	for path, want := range map[string]error{
		"out/passwd": unix.ELOOP, "out": unix.ELOOP, "in/f": unix.ELOOP, "../x": unix.EXDEV, "/etc/passwd": unix.EXDEV,
		"d/../../x": unix.EXDEV, "none": unix.ENOENT, "d/f/x": unix.ENOTDIR,
	} {
		f, err := Open(root, path, unix.O_RDONLY, 0)
		if err == nil {
			f.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if _, err := OpenRegular(root, "fifo"); err == nil {
		t.Error("a fifo is a regular file")
	}
	f, err := OpenRegular(root, "d/f")
	must(t, err)
	f.Close()
}

func TestMountsAreNotCrossed(t *testing.T) {
	root, dir := tree(t)
	at := filepath.Join(dir, "d", "sub")
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, ""); err != nil {
		t.Skipf("needs a mount of its own: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	if _, err := OpenDir(root, "d/sub"); !errors.Is(err, unix.EXDEV) {
		t.Error(err)
	}
	f, err := OpenMounted(root, "d/sub")
	must(t, err)
	defer f.Close()
	if !IsMountRoot(f) || IsMountRoot(root) {
		t.Error("where is the mount?")
	}
}

func TestRenames(t *testing.T) {
	root, dir := tree(t)
	d, err := OpenDir(root, "d")
	must(t, err)
	defer d.Close()
	must(t, os.WriteFile(filepath.Join(dir, "d", "g"), []byte("other"), 0o600))
	if err := Rename(d, "f", "g"); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	must(t, Exchange(d, "f", "sub"))
	st, err := Lstat(d, "f")
	must(t, err)
	if !st.Mode.IsDir() {
		t.Errorf("%v", st.Mode)
	}
	must(t, Replace(d, "sub", d, "g"))
	data, err := os.ReadFile(filepath.Join(dir, "d", "g"))
	if err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	for _, err := range []error{unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP} {
		if !Unsupported(renamed("x", err)) {
			t.Error(err)
		}
	}
}

func TestRemoveAll(t *testing.T) {
	root, dir := tree(t)
	must(t, os.Symlink("/etc", filepath.Join(dir, "d", "sub", "etc")))
	steps := 0
	must(t, RemoveAll(root, "d", func() { steps++ }))
	if steps != 4 {
		t.Errorf("%d steps", steps)
	}
	must(t, RemoveAll(root, "d", func() { t.Error("a step") }))
	must(t, RemoveAll(root, "out", func() {}))
	if _, err := os.Stat("/etc/passwd"); err != nil {
		t.Fatal(err)
	}
}

func TestStatAndTimes(t *testing.T) {
	root, _ := tree(t)
	then := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	f, err := OpenRegular(root, "d/f")
	must(t, err)
	defer f.Close()
	must(t, SetMTime(f, then))
	st, err := LstatPath(root, "d/f")
	must(t, err)
	open, err := Fstat(f)
	must(t, err)
	if !st.MTime.Equal(then) || st.Mode != 0o640 || st.Size != 4 || st.Ino != open.Ino || st.Links != 1 || time.Since(st.CTime) > time.Hour {
		t.Errorf("%+v", st)
	}
	link, err := LstatPath(root, "out")
	if err != nil || link.Mode.Type() != fs.ModeSymlink {
		t.Errorf("%v, %v", link.Mode, err)
	}
	must(t, Chmod(f, 0o604))
	if st, err = Fstat(f); err != nil || st.Mode != 0o604 {
		t.Errorf("%v, %v", st.Mode, err)
	}
}
