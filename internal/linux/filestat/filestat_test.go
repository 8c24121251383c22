package filestat

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func TestAtDoesNotFollow(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	write(t, file, "four")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	f, err := At(file)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Mode.IsRegular() || f.Mode.Perm() != 0o640 || f.Size != 4 || int(f.UID) != os.Getuid() || f.Ino == 0 {
		t.Errorf("%+v", f)
	}
	l, err := At(link)
	if err != nil || l.Mode&fs.ModeSymlink == 0 || l.Same(f) {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := At(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestSame(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, "x")
	write(t, b, "x")
	f, err := os.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(a, a+"2"); err != nil {
		t.Fatal(err)
	}
	open, err := Of(f)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := At(a + "2")
	if err != nil {
		t.Fatal(err)
	}
	other, err := At(b)
	if err != nil {
		t.Fatal(err)
	}
	if !open.Same(moved) || open.Same(other) {
		t.Errorf("%+v %+v %+v", open, moved, other)
	}
	f.Close()
	if _, err := Of(f); err == nil {
		t.Error("a closed file was looked at")
	}
}

func TestHasXattr(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	write(t, name, "")
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if HasXattr(f, "user.coop") {
		t.Error("an attribute from nowhere")
	}
	if err := unix.Setxattr(name, "user.coop", []byte("y"), 0); err != nil {
		t.Skipf("needs a filesystem with user attributes at %s: %v", dir, err)
	}
	if !HasXattr(f, "user.coop") {
		t.Error("the attribute is not seen")
	}
}
