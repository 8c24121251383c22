package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain answers the tests that must run in a process of their own, because they
// move themselves between groups or change their user.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "__child" {
		os.Exit(child(os.Args[2]))
	}
	// The race detector lets every process sleep for a second at its end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

func child(what string) int {
	switch what {
	case "detect":
		h, err := Detect("coop")
		fmt.Printf("%s|%s|%s|%s|%v\n", h.Layout, h.Reason, h.Missing[PIDs], h.Hint, err)
		return 0
	case "hand-down":
		return childHandDown()
	}
	return 2
}

// needRoot is for tests that make groups on the host. A missing ability is a failure
// in CI, where everything must run.
func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("needs root to make groups")
	}
	t.Skip("needs root to make groups")
}

// testParent opens a parent of this test process's own and removes it.
func testParent(t testing.TB, change func(*layout)) *Parent {
	t.Helper()
	needRoot(t)
	l, err := readLayout("/proc")
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&l)
	}
	p, err := openLayout(l, fmt.Sprintf("coop-test-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// noUnified turns the hybrid host into a v1 one.
func noUnified(l *layout) { l.unified = nil }

// testGroup makes a group and clears it away whatever happens to the test.
func testGroup(t testing.TB, p *Parent, l Limits) *Group {
	t.Helper()
	if missing := p.Missing(l); len(missing) > 0 {
		t.Skipf("host cannot enforce: %v", missing)
	}
	g, err := p.Create(fmt.Sprintf("g%d", time.Now().UnixNano()), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.Close()
		again, err := Reopen(g.State())
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		clear(t, again)
	})
	return g
}

func clear(t testing.TB, g *Group) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := g.Kill(); err != nil {
		t.Error(err)
	}
	if err := g.Remove(ctx); err != nil {
		t.Error(err)
	}
	for _, path := range append([]string{g.state.Anchor}, values(g.state.V1)...) {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	_ = g.Close()
}

func values(m map[string]string) []string {
	var all []string
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// program is a shell script held at its first line until go() is called.
type program struct {
	*exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

// start runs script in g; it begins when told to.
func start(t testing.TB, p *Parent, g *Group, script string) *program {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "read go; "+script)
	dir, clone := g.CloneFD()
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: clone}
	if clone {
		cmd.SysProcAttr.CgroupFD = int(dir.Fd())
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(g, cmd.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &program{Cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout)}
}

func (p *program) begin(t testing.TB) {
	t.Helper()
	if _, err := io.WriteString(p.stdin, "go\n"); err != nil {
		t.Fatal(err)
	}
}

// line waits for the next line of output.
func (p *program) line(t testing.TB) string {
	t.Helper()
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("program said nothing: %v", err)
	}
	return strings.TrimSpace(line)
}
