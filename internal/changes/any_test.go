package changes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// anyChange opens a workspace and asks it for one difference. Which attributes
// are the kernel's is told by what the upper layer has.
func anyChange(ctx context.Context, project, upper string) (bool, error) {
	w, err := Open(project, Layer{Dir: upper, Trusted: trusted(upper)})
	if err != nil {
		return false, err
	}
	defer w.Close()
	return w.Any(ctx)
}

func trusted(upper string) bool {
	var buf [64]byte
	_, a := unix.Getxattr(upper+"/dir", "trusted.overlay.opaque", buf[:])
	_, b := unix.Getxattr(upper+"/dir", "trusted.overlay.redirect", buf[:])
	return a == nil || b == nil
}

// trees makes a project and an upper layer without differences.
func trees(t *testing.T) (project, upper string) {
	t.Helper()
	dir := t.TempDir()
	project, upper = filepath.Join(dir, "project"), filepath.Join(dir, "upper")
	mkdir(t, filepath.Join(project, "dir", "deep"))
	mkdir(t, upper)
	write(t, filepath.Join(project, "file"), "text")
	write(t, filepath.Join(project, "dir", "file"), "in a directory")
	write(t, filepath.Join(project, "dir", "deep", "file"), "deeper")
	link(t, "file", filepath.Join(project, "link"))
	return project, upper
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestAny(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, upper string)
		want   bool
	}{
		"nothing":             {func(*testing.T, string) {}, false},
		"written back":        {func(t *testing.T, u string) { write(t, u+"/file", "text") }, false},
		"a directory touched": {func(t *testing.T, u string) { mkdir(t, u+"/dir/deep") }, false},
		"deep, written back":  {func(t *testing.T, u string) { mkdir(t, u+"/dir/deep"); write(t, u+"/dir/deep/file", "deeper") }, false},
		"the same link":       {func(t *testing.T, u string) { link(t, "file", u+"/link") }, false},
		"new file":            {func(t *testing.T, u string) { write(t, u+"/new", "") }, true},
		"new empty directory": {func(t *testing.T, u string) { mkdir(t, u+"/newdir") }, true},
		"new link":            {func(t *testing.T, u string) { link(t, "file", u+"/newlink") }, true},
		"longer":              {func(t *testing.T, u string) { write(t, u+"/file", "text.") }, true},
		"shorter":             {func(t *testing.T, u string) { write(t, u+"/file", "") }, true},
		"another text":        {func(t *testing.T, u string) { write(t, u+"/file", "TEXT") }, true},
		"deep change":         {func(t *testing.T, u string) { mkdir(t, u+"/dir/deep"); write(t, u+"/dir/deep/file", "DEEPER") }, true},
		"another mode":        {func(t *testing.T, u string) { write(t, u+"/file", "text"); chmod(t, u+"/file", 0o755) }, true},
		"a setuid bit":        {func(t *testing.T, u string) { write(t, u+"/file", "text"); chmod(t, u+"/file", 0o644|os.ModeSetuid) }, true},
		"a directory's mode":  {func(t *testing.T, u string) { mkdir(t, u+"/dir"); chmod(t, u+"/dir", 0o700) }, true},
		"another link":        {func(t *testing.T, u string) { link(t, "dir", u+"/link") }, true},
		"file to link":        {func(t *testing.T, u string) { link(t, "link", u+"/file") }, true},
		"link to file":        {func(t *testing.T, u string) { write(t, u+"/link", "text") }, true},
		"file to directory":   {func(t *testing.T, u string) { mkdir(t, u+"/file") }, true},
		"directory to file":   {func(t *testing.T, u string) { write(t, u+"/dir", "") }, true},
		"directory to link":   {func(t *testing.T, u string) { link(t, "/", u+"/dir") }, true},
		"a fifo":              {func(t *testing.T, u string) { fifo(t, u+"/file") }, true},
		"an odd name":         {func(t *testing.T, u string) { write(t, u+"/\xff\n ..", "") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			project, upper := trees(t)
			c.change(t, upper)
			if got, err := anyChange(t.Context(), project, upper); err != nil || got != c.want {
				t.Errorf("%v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func fifo(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhiteout(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a device node")
	}
	project, upper := trees(t)
	if err := unix.Mknod(filepath.Join(upper, "file"), unix.S_IFCHR, 0); err != nil {
		t.Fatal(err)
	}
	if got, err := anyChange(t.Context(), project, upper); err != nil || !got {
		t.Errorf("a removed file: %v, %v", got, err)
	}
}

func TestOpaqueDirectory(t *testing.T) {
	for _, attr := range []string{"user.overlay.opaque", "trusted.overlay.opaque"} {
		t.Run(attr, func(t *testing.T) {
			project, upper := trees(t)
			dir := filepath.Join(upper, "dir")
			mkdir(t, dir)
			err := unix.Setxattr(dir, attr, []byte("y"), 0)
			if errors.Is(err, unix.EPERM) && os.Geteuid() != 0 {
				t.Skip("needs root for a trusted attribute")
			}
			if errors.Is(err, unix.EOPNOTSUPP) {
				t.Skipf("needs a filesystem with attributes at %s", upper)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := anyChange(t.Context(), project, upper); err != nil || !got {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// TestLargeFiles: the comparison goes to the last byte.
func TestLargeFiles(t *testing.T) {
	project, upper := trees(t)
	text := strings.Repeat("0123456789abcde\n", 20000) // more than one buffer
	write(t, filepath.Join(project, "large"), text)
	write(t, filepath.Join(upper, "large"), text)
	if got, err := anyChange(t.Context(), project, upper); err != nil || got {
		t.Errorf("the same: %v, %v", got, err)
	}
	write(t, filepath.Join(upper, "large"), text[:len(text)-1]+"!")
	if got, err := anyChange(t.Context(), project, upper); err != nil || !got {
		t.Errorf("another last byte: %v, %v", got, err)
	}
}

// TestLinksAreNotFollowed: a link in the upper layer leads nobody out of it.
func TestLinksAreNotFollowed(t *testing.T) {
	project, upper := trees(t)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "new"), "")
	for _, dir := range []string{project, upper} {
		link(t, outside, filepath.Join(dir, "out"))
	}
	if got, err := anyChange(t.Context(), project, upper); err != nil || got {
		t.Errorf("the same link: %v, %v", got, err)
	}
}

func TestAnyEndsWithItsContext(t *testing.T) {
	project, upper := trees(t)
	write(t, filepath.Join(upper, "file"), "text")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := anyChange(ctx, project, upper); !errors.Is(err, cause) {
		t.Error(err)
	}
}

// TestMissingTrees: neither is taken for an empty one.
func TestMissingTrees(t *testing.T) {
	project, upper := trees(t)
	if got, err := anyChange(t.Context(), project, upper+"x"); !errors.Is(err, os.ErrNotExist) || got {
		t.Errorf("no upper: %v, %v", got, err)
	}
	write(t, filepath.Join(upper, "file"), "text")
	if got, err := anyChange(t.Context(), project+"x", upper); !errors.Is(err, os.ErrNotExist) || got {
		t.Errorf("no project: %v, %v", got, err)
	}
}
