package changes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	ovl "github.com/coop-dev/coop/internal/rootfs/overlay"
)

// mounted is a project under a real overlay.
type mounted struct {
	project, upper string
	merged         string // a path through the mount's descriptor
	root           bool
}

func (m *mounted) layer() Layer { return Layer{Dir: m.upper, Trusted: m.root} }

// overlays runs a test over a real overlay of each kind this process can make:
// in a user namespace of its own (userxattr) and, for real root, with trusted
// attributes and redirects.
func overlays(t *testing.T, test func(t *testing.T, root bool)) {
	if os.Getenv("COOP_TEST_INSIDE") != "" {
		test(t, false)
		return
	}
	t.Run("root", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("needs root")
		}
		test(t, true)
	})
	t.Run("user", runInside)
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

// overlayOn puts an overlay over the directory project in dir.
func overlayOn(dir string, root bool) (m *mounted, unmount func(), err error) {
	m = &mounted{project: filepath.Join(dir, "project"), upper: filepath.Join(dir, "upper"), root: root}
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
	tree, err := ovl.Mount(ovl.Layers{Lowers: open[:1], Upper: open[1], Work: open[2]}, ovl.Options{UserXattr: !root})
	if err != nil {
		return nil, nil, err
	}
	m.merged = fmt.Sprintf("/proc/self/fd/%d", tree.Fd())
	return m, func() { tree.Close() }, nil
}
