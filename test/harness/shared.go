package harness

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coop-dev/coop/client"
)

// The functions below are the methods of the shared home.

// Coop runs the binary; see Instance.Coop.
func Coop(t testing.TB, args ...string) Result { t.Helper(); return Shared().Coop(t, args...) }

// CoopIn runs the binary in a directory and with input.
func CoopIn(t testing.TB, dir string, stdin io.Reader, args ...string) Result {
	t.Helper()
	return Shared().CoopIn(t, dir, stdin, args...)
}

// Create makes a sandbox that goes with the test; see Instance.Create.
func Create(t testing.TB, flags ...string) string { t.Helper(); return Shared().Create(t, flags...) }

// Exec runs a command in a sandbox.
func Exec(t testing.TB, id string, cmd ...string) Result {
	t.Helper()
	return Shared().Exec(t, id, cmd...)
}

// Client talks to the shared home's daemon.
func Client(t testing.TB) *client.Client { t.Helper(); return Shared().Client(t) }

// DaemonPID is the shared home's daemon.
func DaemonPID(t testing.TB) int { t.Helper(); return Shared().DaemonPID(t) }

// KillDaemon kills it with SIGKILL and waits until it is gone.
func KillDaemon(t testing.TB) { t.Helper(); Shared().KillDaemon(t) }

// Project makes a directory with a few files, as a person's project.
func Project(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "proj")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove project: %v", err)
		}
	})
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"README.md": "# project\n", "main.go": "package main\n\nfunc main() {}\n", "sub/data.txt": "data\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func hasFlag(flags []string, name string) bool {
	for _, f := range flags {
		if f == name || strings.HasPrefix(f, name+"=") {
			return true
		}
	}
	return false
}
