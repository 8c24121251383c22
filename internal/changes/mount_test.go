package changes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	copydriver "github.com/coop-dev/coop/internal/rootfs/copy"
	ovl "github.com/coop-dev/coop/internal/rootfs/overlay"
)

// mounted is a project under a real overlay.
type mounted struct {
	project, upper string
	merged         string // a path through the mount's descriptor
	driver         driver
}

// driver is a way to have a workspace, in the modes that differ.
type driver string

const (
	rootOverlay driver = "root"
	userOverlay driver = "user"
	copies      driver = "copy"
)

func (m *mounted) layer() Layer {
	if m.driver == copies {
		return Layer{Dir: m.upper, Manifest: m.upper + ".manifest"}
	}
	return Layer{Dir: m.upper, Trusted: m.driver == rootOverlay}
}

// drivers runs a test over a real workspace of each kind this process can make:
// an overlay in a user namespace of its own (userxattr), for real root one with
// trusted attributes and redirects, and a copy.
func drivers(t *testing.T, test func(t *testing.T, d driver)) {
	if os.Getenv("COOP_TEST_INSIDE") != "" {
		test(t, userOverlay)
		return
	}
	t.Run("root", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("needs root")
		}
		test(t, rootOverlay)
	})
	t.Run("copy", func(t *testing.T) { test(t, copies) })
	t.Run("user", runInside)
}

// tempDir is where a workspace is tried. A copy is synced to the disk, which on a
// busy machine takes seconds each time.
func tempDir(t *testing.T, d driver) string {
	t.Helper()
	if st, err := os.Stat("/dev/shm"); d == copies && err == nil && st.IsDir() {
		if dir, err := os.MkdirTemp("/dev/shm", "coop-test-"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	return t.TempDir()
}

// runInside runs the test of this name once more in a user and mount namespace
// of its own.
func runInside(t *testing.T) {
	name, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+name+"$", "-test.v")
	for _, a := range os.Args {
		if strings.HasPrefix(a, "-rapid.") {
			cmd.Args = append(cmd.Args, a)
		}
	}
	cmd.Env = append(os.Environ(), "COOP_TEST_INSIDE="+name, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		need(t, "user namespaces", err)
	case err != nil:
		t.Errorf("inside: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("inside:\n%s", out)
	}
}

func need(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs %s, which CI must have: %v", what, err)
	}
	t.Skipf("needs %s: %v", what, err)
}

// workspaceOf makes a workspace of the directory project in dir.
func workspaceOf(dir string, d driver) (m *mounted, unmount func(), err error) {
	m = &mounted{project: filepath.Join(dir, "project"), upper: filepath.Join(dir, "upper"), driver: d}
	if d == copies {
		src, err := os.Open(m.project)
		if err != nil {
			return nil, nil, err
		}
		defer src.Close()
		m.merged = m.upper
		return m, func() {}, copydriver.Make(context.Background(), src, m.upper, m.upper+".manifest", nil)
	}
	work := filepath.Join(dir, "work")
	var open []*os.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	for _, d := range []string{m.project, m.upper, work} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, nil, err
		}
		f, err := os.Open(d)
		if err != nil {
			return nil, nil, err
		}
		open = append(open, f)
	}
	tree, err := ovl.Mount(ovl.Layers{Lowers: open[:1], Upper: open[1], Work: open[2]}, ovl.Options{UserXattr: d == userOverlay})
	if err != nil {
		return nil, nil, err
	}
	m.merged = fmt.Sprintf("/proc/self/fd/%d", tree.Fd())
	return m, func() { tree.Close() }, nil
}
