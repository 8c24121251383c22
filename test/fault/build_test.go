package fault

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coop-dev/coop/test/harness"
	"github.com/coop-dev/coop/test/rootfs"
)

// baseProject is a home with an image, and a directory whose coop.toml builds
// over it.
func baseProject(t *testing.T, steps ...string) (harness.Instance, string) {
	t.Helper()
	h := harness.Private(t)
	dir := harness.Project(t)
	tar := filepath.Join(dir, "image.tar")
	f, err := os.Create(tar)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := rootfs.Write(f, rootfs.Tools(), nil); err != nil {
		t.Fatal(err)
	}
	if r := h.Coop(t, "image", "import", tar, "local/tools:1"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	text := "[base]\nimage = \"local/tools:1\"\n[setup]\nrun = ['" + strings.Join(steps, "', '") + "']\n"
	if err := os.WriteFile(filepath.Join(dir, "coop.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return h, dir
}

// beginBuild starts a build and returns when its output has a line.
func beginBuild(t *testing.T, h harness.Instance, dir, line string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := h.Command(ctx, "rebuild")
	cmd.Dir = dir
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(out); s.Scan(); {
		if s.Text() == line {
			go func() { // nothing it says may make it wait
				for s.Scan() {
				}
			}()
			return cmd
		}
	}
	t.Fatalf("the build never said %q", line)
	return nil
}

// The daemon dies in the middle of a step: nothing of the step is left, what was
// finished before is not run again, and the base comes to be.
func TestKilledDuringBuild(t *testing.T) {
	h, dir := baseProject(t, "echo first >/first", "echo $HOSTNAME >/second; echo midway; test -e /workspace/go || sleep 1000")
	cmd := beginBuild(t, h, dir, "midway")
	h.KillDaemon(t)
	_ = cmd.Wait() // it has nobody to talk to
	if r := h.Coop(t, "ls", "-a", "-q"); r.Code != 0 || r.Stdout != "" {
		t.Errorf("a sandbox is left: %q %s", r.Stdout, r.Stderr)
	}
	if left, err := filepath.Glob(filepath.Join(h.Dir, "layers", "tmp", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "coop.toml"))
	if err != nil {
		t.Fatal(err)
	}
	mended := strings.Replace(string(text), "sleep 1000", "true", 1)
	if err := os.WriteFile(filepath.Join(dir, "coop.toml"), []byte(mended), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := h.CoopIn(t, dir, nil, "rebuild"); r.Code != 0 || !strings.Contains(r.Stderr, "/first: unchanged") {
		t.Errorf("%d %s", r.Code, r.Stderr)
	}
	if r := h.CoopIn(t, dir, nil, "run", "--", "cat", "/first"); r.Stdout != "first\n" {
		t.Errorf("%+v", r)
	}
}

// Who gives up a build leaves nothing running.
func TestInterruptedBuild(t *testing.T) {
	h, dir := baseProject(t, "echo midway; sleep 1000")
	cmd := beginBuild(t, h, dir, "midway")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status is below
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("status %d", code)
	}
	if r := h.Coop(t, "shutdown"); r.Code != 0 { // waits for what the daemon is about
		t.Error(r.Stderr)
	}
	if r := h.Coop(t, "ls", "-a", "-q"); r.Code != 0 || r.Stdout != "" {
		t.Errorf("a sandbox is left: %q %s", r.Stdout, r.Stderr)
	}
}

// Of two builds of the same base one runs the steps and the other waits.
func TestTwoBuilds(t *testing.T) {
	h, dir := baseProject(t, "echo one >/one", "cat /one; echo two >/two")
	const builds = 4
	results := make(chan harness.Result, builds)
	for range builds {
		go func() { results <- h.CoopIn(t, dir, nil, "rebuild") }()
	}
	ran, digests := 0, map[string]bool{}
	for range builds {
		r := <-results
		if r.Code != 0 {
			t.Errorf("%d %s", r.Code, r.Stderr)
		}
		digests[r.Stdout] = true
		ran += strings.Count(r.Stderr, "coop: step ") - strings.Count(r.Stderr, ": unchanged\n")
	}
	if ran != 2 || len(digests) != 1 {
		t.Errorf("%d steps ran, %d bases: %v", ran, len(digests), digests)
	}
}
