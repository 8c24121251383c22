package escape

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coop-dev/coop/internal/fence"
	"github.com/coop-dev/coop/test/harness"
)

// box is the sandbox of one run and what the host half of an attack decides
// about it.
type box struct {
	home    harness.Instance
	mode    string            // how the daemon runs
	without []string          // fences taken away
	create  []string          // flags of coop create
	exec    []string          // flags of coop exec
	env     map[string]string // given to the program inside
	dir     string            // the workspace's directory on the host
	probe   string            // the program, as the sandbox sees it
	id      string
}

const probeName = "escape.test"

// probeDir is where this process keeps its copy of itself for sandboxes.
func probeDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("coop-escape-%d", os.Getpid()))
}

// copyProbe puts the test program into a directory.
func copyProbe(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(filepath.Join(dir, probeName), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		t.Fatal(err)
	}
}

// sharedProbe makes the copy all overlay workspaces lie over.
func sharedProbe(t testing.TB, once *sync.Once) {
	t.Helper()
	once.Do(func() { copyProbe(t, probeDir()) })
}

// newBox makes the sandbox of one run.
func newBox(t *testing.T, a attack, mode string, without, flags []string) *box {
	t.Helper()
	b := &box{
		home: harness.Shared(), mode: mode, without: without, create: slices.Clone(flags),
		env: map[string]string{}, dir: probeDir(), probe: "/workspace/" + probeName,
	}
	if a.Private {
		b.home = harness.Private(t)
	}
	if a.Host != nil {
		a.Host(t, b)
	}
	if len(without) > 0 {
		b.create = append(b.create, "--label", fence.Label+"="+strings.Join(without, ","))
	}
	b.id = b.home.Create(t, append([]string{"--workspace", b.dir}, b.create...)...)
	return b
}

// bind makes a directory of its own the workspace, read-write.
func (b *box) bind(t *testing.T, dir string) {
	t.Helper()
	copyProbe(t, dir)
	b.dir = dir
	b.create = append(b.create, "--mode", "bind")
}

// command starts a part of an attack inside.
func (b *box) command(name, part string) []string {
	args := append([]string{"exec"}, b.exec...)
	args = append(args, "-e", envAttack+"="+name, "-e", envPart+"="+part, "-e", "COOP_MODE="+b.mode)
	for k, v := range b.env {
		args = append(args, "-e", k+"="+v)
	}
	return append(args, b.id, "--", b.probe)
}

// sh runs a shell command inside and fails the test when it fails.
func (b *box) sh(t *testing.T, script string) string {
	t.Helper()
	r := b.home.Exec(t, b.id, "sh", "-c", script)
	if r.Code != 0 {
		t.Fatalf("%s: exit status %d: %s", script, r.Code, r.Stderr)
	}
	return strings.TrimSpace(r.Stdout)
}

// answers reports whether the sandbox still runs programs.
func (b *box) answers(t *testing.T) error {
	t.Helper()
	if r := b.home.Exec(t, b.id, "true"); r.Code != 0 {
		return fmt.Errorf("the sandbox no longer answers: exit status %d: %s", r.Code, r.Stderr)
	}
	return nil
}
