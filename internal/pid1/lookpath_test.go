package pid1

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
)

// bins makes two directories of a PATH with programs and other things in them.
func bins(t *testing.T) (first, second string) {
	t.Helper()
	first, second = t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{
		first + "/tool": 0o755, second + "/tool": 0o755, second + "/other": 0o700,
		first + "/data": 0o644, second + "/data": 0o755, first + "/only-data": 0o644, first + "/group": 0o610,
	} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(first+"/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("none", first+"/dead"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tool", first+"/alias"); err != nil {
		t.Fatal(err)
	}
	return first, second
}

func TestLookPath(t *testing.T) {
	first, second := bins(t)
	path := "PATH=" + first + ":" + second + ":/nonexistent"
	for _, c := range []struct {
		name, dir string
		env       []string
		want      string
		err       error
	}{
		{"tool", "/", []string{"A=b", path}, first + "/tool", nil},
		{"other", "/", []string{path}, second + "/other", nil},
		{"alias", "/", []string{path}, first + "/alias", nil},
		{"group", "/", []string{path}, first + "/group", nil}, // the kernel has the last word
		{"data", "/", []string{path}, second + "/data", nil},  // one that cannot be executed is passed over
		{"only-data", "/", []string{path}, "", unix.EACCES},
		{"dir", "/", []string{path}, "", unix.EACCES},
		{"dead", "/", []string{path}, "", unix.ENOENT},
		{"none", "/", []string{path}, "", unix.ENOENT},
		{"", "/", []string{path}, "", unix.ENOENT},
		{"tool", "/", nil, "", unix.ENOENT},
		{"tool", first, []string{"PATH="}, first + "/tool", nil},                // as a shell does
		{"tool", second, []string{"PATH=/nonexistent:"}, second + "/tool", nil}, // an empty element is here
		{first + "/tool", "/", nil, first + "/tool", nil},
		{"./tool", first, []string{path}, first + "/tool", nil},
		{filepath.Base(first) + "/tool", filepath.Dir(first), nil, first + "/tool", nil},
		{"./tool", "/", []string{path}, "", unix.ENOENT},
		{first + "/data", "/", nil, "", unix.EACCES},
		{first + "/dir", "/", nil, "", unix.EACCES},
		{first + "/tool/below", "/", nil, "", unix.ENOTDIR},
	} {
		got, err := lookPath(c.name, c.dir, c.env)
		if c.err == nil && (err != nil || got != c.want) || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%q in %q: %q, %v; want %q, %v", c.name, c.dir, got, err, c.want, c.err)
		}
		var step *initproto.Error
		if err != nil && (!errors.As(err, &step) || step.Step != "exec" || step.Path != c.name) {
			t.Errorf("%q: the error is of %+v", c.name, step)
		}
	}
}

func TestEnvironment(t *testing.T) {
	env := []string{"PATH=/bin", "PATH=/other", "EMPTY=", "odd", "HOME=/set"}
	for key, want := range map[string]string{"PATH": "/bin", "EMPTY": "", "odd": "", "none": "", "HOME": "/set"} {
		if got := initproto.EnvValue(env, key); got != want {
			t.Errorf("%s: %q", key, got)
		}
	}
	got := initproto.WithHome(slices.Clone(env), "/home/me", "me")
	if strings.Join(got[len(env):], " ") != "USER=me LOGNAME=me" {
		t.Errorf("%v", got)
	}
}

// TestEnterDir runs on a thread with a working directory of its own, which ends
// with it.
func TestEnterDir(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	cases := map[string]error{
		dir: nil, dir + "/link": nil, dir + "/none": unix.ENOENT, dir + "/file": unix.ENOTDIR,
		"/proc/self/fd/" + itoa(int(held.Fd())): unix.ELOOP, // CVE-2024-21626
		"/proc/self/cwd":                        unix.ELOOP,
		"/proc/thread-self/root/tmp":            unix.ELOOP,
	}
	errs := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			errs <- err
			return
		}
		var all error
		for path, want := range cases {
			if err := (&Init{}).enterDir(path); !errors.Is(err, want) {
				all = errors.Join(all, errors.New(path), err)
			}
		}
		errs <- all
	}()
	if err := <-errs; err != nil {
		t.Error(err)
	}
}
