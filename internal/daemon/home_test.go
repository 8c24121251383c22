package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/sandbox"
)

func TestMakeHome(t *testing.T) {
	home := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // there already, the second time
		if err := makeHome(home); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(home)
		if err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
		if err := os.Chmod(home, 0o755); err != nil { // too open: made private again
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestMakeHomeFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{file: "not a directory", filepath.Join(file, "x"): "not a directory"}
	if os.Geteuid() != 0 {
		cases[closed], cases[filepath.Join(closed, "x")] = "not writable", "not writable"
	}
	for home, want := range cases {
		var e *sandbox.Error
		if err := makeHome(home); !errors.As(err, &e) || e.Code != sandbox.Unavailable || e.Hint == "" ||
			!strings.Contains(e.Message, want) || !strings.Contains(e.Message, home) {
			t.Errorf("%s: %v", home, err)
		}
	}
}

func TestExplainHome(t *testing.T) {
	if explainHome("/h", nil) != nil {
		t.Error("nothing became an error")
	}
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOSPC: "disk is full", syscall.EDQUOT: "disk is full", syscall.EROFS: "not writable", syscall.EACCES: "not writable",
		syscall.EPERM: "not writable", syscall.ENOTDIR: "not a directory", syscall.EEXIST: "not a directory", syscall.EIO: "input/output error",
	} {
		err := explainHome("/h", &os.PathError{Op: "open", Path: "/h", Err: errno})
		if sandbox.CodeOf(err) != sandbox.Unavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

func TestOpenLogKeepsOnePredecessor(t *testing.T) {
	home := t.TempDir()
	name := filepath.Join(home, "daemon.log")
	write := func() {
		t.Helper()
		f, err := openLog(home)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("line\n"); err != nil {
			t.Error(err)
		}
	}
	write()
	write()
	if b, err := os.ReadFile(name); err != nil || string(b) != "line\nline\n" {
		t.Errorf("%q, %v", b, err)
	}
	if err := os.Truncate(name, maxLog+1); err != nil {
		t.Fatal(err)
	}
	write()
	if b, err := os.ReadFile(name); err != nil || string(b) != "line\n" {
		t.Errorf("%q, %v", b, err)
	}
	if st, err := os.Stat(name + ".1"); err != nil || st.Size() != maxLog+1 {
		t.Errorf("the old one: %v", err)
	}
	if _, err := openLog(filepath.Join(home, "none")); err == nil {
		t.Error("a log in nothing")
	}
}

func TestModeOf(t *testing.T) {
	for want, m := range map[string]idmap.Map{
		"root":           {{Inside: 0, Outside: 0, Count: 1<<32 - 1}},
		"user-single-id": {{Inside: 0, Outside: 1000, Count: 1}},
		"user":           {{Inside: 0, Outside: 1000, Count: 1}, {Inside: 1, Outside: 100000, Count: 65536}},
	} {
		if got := modeOf(m); got != want {
			t.Errorf("%v: %s, want %s", m, got, want)
		}
	}
}

func TestGroupName(t *testing.T) {
	a, b := groupName("/home/a/.coop"), groupName("/home/b/.coop")
	if a == b || a != groupName("/home/a/.coop") || !strings.HasPrefix(a, "coop-") || strings.ContainsAny(a, "/. ") {
		t.Errorf("%s, %s", a, b)
	}
}

// TestEnviron: a daemon knows nothing of the shell it was started from.
func TestEnviron(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "x")
	t.Setenv("COOP_LOG", "debug")
	t.Setenv("LD_PRELOAD", "")
	env := strings.Join(environ("/h"), "\n")
	if strings.Contains(env, "SECRET") || strings.Contains(env, "LD_") || !strings.Contains(env, "COOP_HOME=/h") || !strings.Contains(env, "COOP_LOG=debug") {
		t.Errorf("%s", env)
	}
}
