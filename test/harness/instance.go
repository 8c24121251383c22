package harness

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Instance is one COOP_HOME and with it one daemon.
type Instance struct{ Dir string }

// Private makes a home with a daemon of its own, for tests that cannot share
// one. At the end everything in it is removed and the test fails if something
// is left. It is slow: see Shared.
func Private(t testing.TB) Instance {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cp")
	if err != nil {
		t.Fatal(err)
	}
	return Adopt(t, dir)
}

// Adopt is Private for a directory that is there, or will be.
func Adopt(t testing.TB, dir string) Instance {
	t.Helper()
	h := Instance{Dir: dir}
	t.Cleanup(func() {
		if left := h.Sweep(Bin()); len(left) > 0 {
			t.Errorf("left behind:\n%v", errors.Join(left...))
		}
		if t.Failed() {
			showLog(dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the home: %v", err)
		}
	})
	return h
}

// Result is what became of one coop command.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Coop runs the binary and returns whatever it did; only a binary that cannot
// run or does not end is a failure of the test.
func (h Instance) Coop(t testing.TB, args ...string) Result {
	t.Helper()
	return h.CoopIn(t, "", nil, args...)
}

// patience bounds one command; the slowest, the first of a home, takes seconds.
const patience = 2 * time.Minute

// CoopIn is Coop in a directory and with input.
func (h Instance) CoopIn(t testing.TB, dir string, stdin io.Reader, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := h.Command(ctx, args...)
	cmd.Dir, cmd.Stdin = dir, stdin
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("coop %q: %v\n%s", args, err, &stderr)
	}
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// Command is a coop command that has not been started.
func (h Instance) Command(ctx context.Context, args ...string) *exec.Cmd {
	return h.command(ctx, Bin(), args...)
}

// command keeps the environment small: what a sandbox or a daemon would pick up
// from ours is no part of a test.
func (h Instance) command(ctx context.Context, bin string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = Environ(h.Dir)
	return cmd
}

// Environ is the environment of a coop command that uses a home.
func Environ(home string) []string {
	env := []string{"COOP_HOME=" + home, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, k := range []string{"COOP_LOG", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// Create makes a sandbox, removed at the end of the test, and gives its id.
// Without a workspace or a mode among the flags it has none.
func (h Instance) Create(t testing.TB, flags ...string) string {
	t.Helper()
	if !hasFlag(flags, "--workspace") && !hasFlag(flags, "--mode") {
		flags = append([]string{"--mode", "none"}, flags...)
	}
	r := h.Coop(t, append([]string{"create"}, flags...)...)
	if r.Code != 0 {
		t.Fatalf("coop create %q: %s", flags, r.Stderr)
	}
	id := string(bytes.TrimSpace([]byte(r.Stdout)))
	t.Cleanup(func() {
		if r := h.Coop(t, "rm", "-f", id); r.Code != 0 && r.Code != 3 { // 3: the test removed it
			t.Errorf("coop rm -f %s: %s", id, r.Stderr)
		}
	})
	return id
}

// Exec runs a command in a sandbox.
func (h Instance) Exec(t testing.TB, id string, cmd ...string) Result {
	t.Helper()
	return h.Coop(t, append([]string{"exec", id, "--"}, cmd...)...)
}

// Socket is where the daemon listens.
func (h Instance) Socket() string { return filepath.Join(h.Dir, "daemon.sock") }
