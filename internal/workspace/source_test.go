package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
)

// place is a directory without links in its own path, with a home in it.
func place(t *testing.T) (dir, home string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home = filepath.Join(dir, "home", ".coop")
	mkdir(t, home)
	return dir, home
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o750); err != nil {
		t.Fatal(err)
	}
	return path
}

func symlink(t *testing.T, to, at string) string {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
	return at
}

func fds(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

func TestOpen(t *testing.T) {
	dir, home := place(t)
	project := mkdir(t, filepath.Join(dir, "project"))
	for name, path := range map[string]string{
		"as it is":         project,
		"with a slash":     project + "/",
		"unclean":          filepath.Join(dir, "home") + "/../project",
		"through a link":   symlink(t, project, filepath.Join(dir, "link")),
		"a link to a link": symlink(t, "link", filepath.Join(dir, "link2")),
		"below a link":     filepath.Join(symlink(t, dir, filepath.Join(dir, "self")), "project"),
	} {
		s, err := Open(path, home)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.Path != project || int(s.UID) != os.Getuid() || int(s.GID) != os.Getgid() || s.Mode.Perm() != 0o750 {
			t.Errorf("%s: %+v", name, s)
		}
		if _, err := s.Dir.Stat(); err != nil {
			t.Errorf("%s: the directory is not open: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir, home := place(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inside := mkdir(t, filepath.Join(home, "sandboxes", "x", "upper"))
	before := fds(t)
	for name, c := range map[string]struct {
		path, message string
	}{
		"nothing there":            {filepath.Join(dir, "none"), "does not exist"},
		"a file":                   {file, "not a directory"},
		"below a file":             {filepath.Join(file, "x"), "workspace"},
		"a dead link":              {symlink(t, filepath.Join(dir, "none"), filepath.Join(dir, "dead")), "does not exist"},
		"a link to itself":         {symlink(t, "loop", filepath.Join(dir, "loop")), "workspace"},
		"the host's root":          {"/", "root directory"},
		"a link to the root":       {symlink(t, "/", filepath.Join(dir, "rootlink")), "root directory"},
		"the root by another name": {"/proc/self/root", "root directory"},
		"the home":                 {home, "inside COOP_HOME"},
		"in the home":              {inside, "inside COOP_HOME"},
		"a link into the home":     {symlink(t, inside, filepath.Join(dir, "innocent")), "inside COOP_HOME"},
	} {
		s, err := Open(c.path, home)
		var e *sandbox.Error
		if s != nil || !errors.As(err, &e) || e.Code != sandbox.Invalid || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := fds(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestOpenUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user: root reads everything")
	}
	dir, home := place(t)
	secret := mkdir(t, filepath.Join(dir, "secret"))
	for _, mode := range []os.FileMode{0, 0o300} {
		if err := os.Chmod(secret, mode); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(secret, home); s != nil || sandbox.CodeOf(err) != sandbox.Denied {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

// TestHomeInTheWorkspace: a directory that holds the home is refused, one with a
// similar name is not.
func TestHomeInTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "a", "b", "home")
	for _, d := range []string{home, filepath.Join(dir, "a", "bc")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{dir, filepath.Join(dir, "a"), filepath.Join(dir, "a", "b")} {
		if s, err := Open(d, home); sandbox.CodeOf(err) != sandbox.Invalid {
			t.Errorf("%s: %+v, %v", d, s, err)
		}
	}
	s, err := Open(filepath.Join(dir, "a", "bc"), home)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		p, dir string
		want   bool
	}{
		{"/a", "/a", true},
		{"/a/b", "/a", true},
		{"/ab", "/a", false},
		{"/a", "/a/b", false},
		{"/a", "/", true},
		{"/", "/", true},
	} {
		if got := within(c.p, c.dir); got != c.want {
			t.Errorf("within(%q, %q) = %v", c.p, c.dir, got)
		}
	}
}
