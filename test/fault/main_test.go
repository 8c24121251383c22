package fault

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/linux/pidfd"
	"github.com/coop-dev/coop/test/harness"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envSmallDisk); dir != "" {
		os.Exit(onSmallDisk(dir, os.Args[1:]))
	}
	os.Exit(harness.Main(m, harness.Options{}))
}

// within is the context of a test that must not hang.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// create makes a sandbox without a workspace.
func create(t testing.TB, c *client.Client, name string) *api.Sandbox {
	t.Helper()
	sb, err := c.Create(within(t, time.Minute), api.CreateRequest{Name: name, Workspace: &api.Workspace{Mode: "none"}})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	t.Cleanup(func() { _ = c.Delete(context.Background(), sb.ID) }) // the test may have done it
	return sb
}

// shell runs a command through the sandbox's shell.
func shell(t testing.TB, c *client.Client, ref, command string) *api.ExecResult {
	t.Helper()
	res, err := c.Exec(within(t, time.Minute), ref, api.ExecRequest{Command: command})
	if err != nil {
		t.Fatalf("exec %q in %s: %v", command, ref, err)
	}
	return res
}

// wantShell is shell that must succeed and say something.
func wantShell(t testing.TB, c *client.Client, ref, command, want string) {
	t.Helper()
	if res := shell(t, c, ref, command); res.ExitCode != 0 || strings.TrimSpace(res.Stdout) != want {
		t.Errorf("%s in %s: %+v, want %q", command, ref, res, want)
	}
}

// wantFile reads a file through the API.
func wantFile(t testing.TB, c *client.Client, ref, path, want string) {
	t.Helper()
	r, err := c.ReadFile(within(t, time.Minute), ref, path)
	if err != nil {
		t.Errorf("read %s: %v", path, err)
		return
	}
	defer r.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != want {
		t.Errorf("%s: %q, %v, want %q", path, b, err, want)
	}
}

// wantUsable does everything one can do with a running sandbox, and leaves it
// running.
func wantUsable(t testing.TB, c *client.Client, ref string) {
	t.Helper()
	ctx := within(t, time.Minute)
	wantShell(t, c, ref, "echo $((6 * 7))", "42")
	if err := c.WriteFile(ctx, ref, "/workspace/written", strings.NewReader("from outside")); err != nil {
		t.Errorf("write file: %v", err)
	}
	wantFile(t, c, ref, "/workspace/written", "from outside")
	wantShell(t, c, ref, "cat written", "from outside")
	pid := background(t, c, ref, "sleep 4242")
	if err := c.KillProcess(ctx, ref, pid, "SIGKILL"); err != nil {
		t.Errorf("signal: %v", err)
	}
	until(t, func() (int, bool) { pid := processOf(t, c, ref, "sleep 4242"); return pid, pid == 0 })
}

// wantLife stops, starts and removes a sandbox.
func wantLife(t testing.TB, c *client.Client, ref string) {
	t.Helper()
	ctx := within(t, time.Minute)
	wantShell(t, c, ref, "echo kept >/workspace/kept", "")
	if sb, err := c.Stop(ctx, ref, api.StopRequest{Grace: api.Duration(time.Second)}); err != nil || sb.Status != "stopped" {
		t.Fatalf("stop: %+v, %v", sb, err)
	}
	if sb, err := c.Start(ctx, ref); err != nil || sb.Status != "running" {
		t.Fatalf("start: %+v, %v", sb, err)
	}
	wantShell(t, c, ref, "cat /workspace/kept", "kept")
	if err := c.Delete(ctx, ref); err != nil {
		t.Fatalf("delete: %v", err)
	}
}

// background starts a command that outlives its exec and gives its pid.
func background(t testing.TB, c *client.Client, ref, command string) int {
	t.Helper()
	wantShell(t, c, ref, command+" >/dev/null 2>&1 &", "")
	return until(t, func() (int, bool) { pid := processOf(t, c, ref, command); return pid, pid != 0 })
}

// processOf finds a process by its command line, 0 if there is none.
func processOf(t testing.TB, c *client.Client, ref, command string) int {
	t.Helper()
	list, err := c.Processes(within(t, time.Minute), ref)
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	for _, p := range list.Items {
		if p.Command == command {
			return p.PID
		}
	}
	return 0
}

// hold gives a pidfd of a process that must be there.
func hold(t testing.TB, pid int) *pidfd.Process {
	t.Helper()
	p, err := pidfd.Open(pid)
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
