package beneath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func place(t *testing.T) (root *os.File, dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, step := range []error{
		os.MkdirAll(dir+"/a/b", 0o755),
		os.WriteFile(dir+"/a/b/file", []byte("text"), 0o640),
		os.Symlink("/etc", dir+"/out"),
		os.Symlink("a", dir+"/in"),
		unix.Mkfifo(dir+"/fifo", 0o600),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	root, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func TestFile(t *testing.T) {
	root, _ := place(t)
	f, info, err := File(root, "a/b/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil || string(b) != "text" || info.Size != 4 || info.Mode != 0o640 {
		t.Errorf("%q %+v %v", b, info, err)
	}
	for path, want := range map[string]error{
		"fifo": ErrNotRegular, "out": unix.ELOOP, "a": ErrNotRegular, "none": fs.ErrNotExist,
		"out/passwd": unix.ELOOP, "in/b/file": unix.ELOOP, "../x": unix.EXDEV, "/etc/passwd": unix.EXDEV, "a/../../x": unix.EXDEV,
	} {
		f, _, err := File(root, path)
		if path == "out" && errors.Is(err, ErrNotRegular) {
			continue // O_PATH opens the link itself
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if f != nil {
			f.Close()
		}
	}
}

func TestDirAndEntry(t *testing.T) {
	root, _ := place(t)
	d, err := Dir(root, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if names, err := Names(d, 1); err != nil || len(names) != 1 {
		t.Errorf("%v %v", names, err)
	}
	if _, err := Names(root, 2); !errors.Is(err, ErrTooMany) {
		t.Errorf("four names of at most two: %v", err)
	}
	if info, err := Entry(root, "out"); err != nil || info.Mode.Type() != fs.ModeSymlink {
		t.Errorf("%v %v", info.Mode, err)
	}
	if to, err := Link(root, "out"); err != nil || to != "/etc" {
		t.Errorf("%q %v", to, err)
	}
	for _, p := range []string{"out", "in", "in/b", "fifo", ".."} {
		if d, err := Dir(root, p); err == nil {
			d.Close()
			t.Errorf("%s is opened as a directory", p)
		}
	}
	if info, err := At(root, "fifo"); err != nil || info.Mode.Type() != fs.ModeNamedPipe {
		t.Errorf("%v %v", info.Mode, err)
	}
}

func TestXattr(t *testing.T) {
	_, dir := place(t)
	path := filepath.Join(dir, "a", "b", "file")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, ok, err := Xattr(f, "user.none"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	long := string(make([]byte, 1000))
	for name, value := range map[string]string{"user.short": "x", "user.empty": "", "user.long": long} {
		if err := unix.Setxattr(path, name, []byte(value), 0); err != nil {
			t.Skip(err)
		}
		if got, ok, err := Xattr(f, name); !ok || err != nil || got != value {
			t.Errorf("%s: %d bytes, %v, %v", name, len(got), ok, err)
		}
	}
}

func TestHoles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 1 << 30
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if at := Data(f, 0, size); at != size && at != 0 {
		t.Errorf("data at %d", at)
	}
	if _, err := f.WriteAt([]byte("x"), 1<<20); err != nil {
		t.Fatal(err)
	}
	at := Data(f, 0, size)
	if end := Hole(f, at, size); at > 1<<20 || end <= 1<<20 {
		t.Errorf("data from %d to %d", at, end)
	}
}
