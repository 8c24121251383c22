package engine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What is one sandbox's own does not become part of a base, and a step cannot
// lead us out of its tree by what it made of /etc or the workspace.
func TestLeaveOut(t *testing.T) {
	outside := t.TempDir()
	keep := filepath.Join(outside, "hostname")
	write := func(file string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(keep)
	for what, c := range map[string]struct {
		make func(root string)
		left []string
	}{
		"usual": {func(root string) {
			for _, f := range []string{"etc/hostname", "etc/hosts", "etc/resolv.conf", "etc/passwd", "workspace/x/y"} {
				write(filepath.Join(root, f))
			}
		}, []string{"etc", "etc/passwd"}},
		"etc is a link out": {func(root string) {
			if err := os.Symlink(outside, filepath.Join(root, "etc")); err != nil {
				t.Fatal(err)
			}
		}, []string{"etc"}},
		"etc is a file": {func(root string) { write(filepath.Join(root, "etc")) }, []string{"etc"}},
		"workspace is a link out": {func(root string) {
			write(filepath.Join(root, "etc/passwd"))
			if err := os.Symlink(outside, filepath.Join(root, "workspace")); err != nil {
				t.Fatal(err)
			}
		}, []string{"etc", "etc/passwd"}},
		"links in etc": {func(root string) {
			write(filepath.Join(root, "etc/passwd"))
			if err := os.Symlink(keep, filepath.Join(root, "etc/resolv.conf")); err != nil {
				t.Fatal(err)
			}
		}, []string{"etc", "etc/passwd"}},
	} {
		root := t.TempDir()
		c.make(root)
		if err := leaveOut(root, "/workspace"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := namesBelow(t, root); !slices.Equal(got, c.left) {
			t.Errorf("%s: %q is left", what, got)
		}
		if _, err := os.Stat(keep); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func namesBelow(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if rel, rerr := filepath.Rel(root, p); rerr == nil && rel != "." {
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
