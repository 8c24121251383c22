package hostimage

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestImageHoldsNoSecrets prepares the image of this very host and looks for
// what must not be in it.
func TestImageHoldsNoSecrets(t *testing.T) {
	c := New(t.TempDir(), os.Getuid() == 0)
	img, err := c.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Get(t.Context())
	if err != nil || again.Key != img.Key {
		t.Fatalf("second look: %v, %v", again, err)
	}
	for _, p := range []string{"etc/shadow", "etc/gshadow", "etc/machine-id", "etc/hostname"} {
		if _, err := os.Lstat(filepath.Join(img.Skeleton, p)); err == nil {
			t.Errorf("%s is in the image", p)
		}
	}
	err = filepath.WalkDir(filepath.Join(img.Skeleton, "etc"), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat("/etc" + p[len(img.Skeleton)+len("/etc"):])
		if err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o4 == 0 {
			t.Errorf("%s is not for everybody's eyes and was copied", p)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, p := range []string{"home", "root", "var/lib", "srv", "mnt", "run/lock"} {
		if names, err := os.ReadDir(filepath.Join(img.Skeleton, p)); err != nil || len(names) > 0 {
			t.Errorf("/%s holds %v, %v", p, names, err)
		}
	}
}

// TestShadowHidesSecrets is what real root's images rest on: whoever is root
// inside could otherwise read everything through the idmapped mount.
func TestShadowHidesSecrets(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("whiteouts can be made by real root only; ordinary users do not need them")
	}
	tree, shadow := t.TempDir(), filepath.Join(t.TempDir(), "shadow")
	for p, mode := range map[string]os.FileMode{
		"bin/tool": 0o755, "etc/secret": 0o600, "private/key": 0o644, "share/doc": 0o644,
	} {
		full := filepath.Join(tree, p)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(tree, "private"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := hideSecrets(t.Context(), tree, shadow); err != nil {
		t.Fatal(err)
	}
	for p, hidden := range map[string]bool{"etc/secret": true, "private": true, "bin/tool": false, "share/doc": false} {
		st, err := os.Lstat(filepath.Join(shadow, p))
		whiteout := err == nil && st.Mode()&fs.ModeCharDevice != 0
		if whiteout != hidden {
			t.Errorf("%s: whiteout %v, want %v", p, whiteout, hidden)
		}
	}
}

// TestDirectoriesOnly is what an ordinary user's images rest on.
func TestDirectoriesOnly(t *testing.T) {
	tree, shadow := t.TempDir(), filepath.Join(t.TempDir(), "shadow")
	if err := os.MkdirAll(filepath.Join(tree, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "a/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := directoriesOnly(t.Context(), tree, shadow); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(shadow, "a/b")); err != nil || !st.IsDir() {
		t.Errorf("directory: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(shadow, "a/file")); err == nil {
		t.Error("a file was repeated")
	}
}

func TestSweepKeepsWhatIsUsed(t *testing.T) {
	dir := t.TempDir()
	c := New(dir, false)
	for _, name := range []string{"used", "unused", c.key()} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Sweep(func(key string) bool { return key == "used" }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"used": true, "unused": false, c.key(): true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s kept: %v, want %v", name, err == nil, want)
		}
	}
}
