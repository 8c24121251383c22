package diskuse

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path string, size int) {
	t.Helper()
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
		t.Fatal(err)
	}
}

func tree(t *testing.T, dir string) int64 {
	t.Helper()
	n, err := Tree(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAllocatedNotApparent(t *testing.T) {
	dir := t.TempDir()
	empty := tree(t, dir)
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if n := tree(t, dir) - empty; n > 1<<16 {
		t.Errorf("a sparse terabyte counts %d bytes", n)
	}
	write(t, filepath.Join(dir, "full"), 1<<20)
	if n := tree(t, dir) - empty; n < 1<<20 || n > 1<<20+1<<16 {
		t.Errorf("a megabyte counts %d bytes", n)
	}
}

func TestHardLinksCountOnceAndLinksNotAtAll(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "one"), 1<<20)
	before := tree(t, dir)
	if err := os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "two")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if n := tree(t, dir) - before; n > 1<<16 {
		t.Errorf("links count %d bytes", n)
	}
}

func TestMissingTakesNothing(t *testing.T) {
	if n := tree(t, filepath.Join(t.TempDir(), "no")); n != 0 {
		t.Error(n)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Tree(ctx, t.TempDir()); err == nil {
		t.Error("it went on")
	}
}

func TestDeepTreeEnds(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 400 {
		if err := root.Mkdir("d", 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := root.OpenRoot("d")
		root.Close()
		if err != nil {
			t.Fatal(err)
		}
		root = next
	}
	root.Close()
	tree(t, dir)
}
