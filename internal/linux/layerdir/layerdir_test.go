package layerdir

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// tree is a directory beside one that must not be reached.
func tree(t *testing.T) (*Tree, string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: entries have owners; package unpack tests the same in a user namespace")
	}
	top := t.TempDir()
	for _, d := range []string{"layer", "outside"} {
		if err := os.Mkdir(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := Open(filepath.Join(top, "layer"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr, top
}

func (t *Tree) mustAt(tt *testing.T, p string) Place {
	tt.Helper()
	at, err := t.At(p)
	if err != nil {
		tt.Fatal(err)
	}
	return at
}

// TestLinksStayInside: a parent that is a link is looked up within the tree.
func TestLinksStayInside(t *testing.T) {
	tr, top := tree(t)
	for name, target := range map[string]string{"abs": "/etc", "up": "../../../etc", "dangling": "../outside"} {
		if err := tr.Symlink(target, tr.mustAt(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.Mkdir(tr.mustAt(t, "etc")); err != nil {
		t.Fatal(err)
	}
	for _, via := range []string{"abs", "up"} {
		f, err := tr.Create(tr.mustAt(t, via+"/from-"+via))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Finish(Meta{Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(top, "layer/etc/from-"+via)); err != nil {
			t.Error(err)
		}
	}
	if _, err := tr.At("dangling/x/y"); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("through a link that leads nowhere: %v", err)
	}
	if names, err := os.ReadDir(filepath.Join(top, "outside")); err != nil || len(names) > 0 {
		t.Errorf("outside holds %v, %v", names, err)
	}
}

// TestRemoveForgetsTheDirectory: what is replaced is looked up anew, also where
// it was the directory used last.
func TestRemoveForgetsTheDirectory(t *testing.T) {
	tr, top := tree(t)
	old := tr.mustAt(t, "a/b/file") // makes a/b and remembers it
	f, err := tr.Create(old)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := tr.Remove(tr.mustAt(t, "a")); err != nil {
		t.Fatal(err)
	}
	f, err = tr.Create(tr.mustAt(t, "a/b/file"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := os.Stat(filepath.Join(top, "layer/a/b/file")); err != nil {
		t.Error(err)
	}
}

func TestHardLinksStayInside(t *testing.T) {
	tr, top := tree(t)
	if err := os.WriteFile(filepath.Join(top, "outside/secret"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tr.Symlink("../outside", tr.mustAt(t, "up")); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"up/secret", "../outside/secret", "nothing"} {
		if err := tr.Link(from, tr.mustAt(t, "mine")); err == nil {
			t.Errorf("a link to %s was made", from)
		}
	}
}

func TestSync(t *testing.T) {
	tr, _ := tree(t)
	if err := tr.SyncFS(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(tr.Close(), nil); err != nil {
		t.Error(err)
	}
}
