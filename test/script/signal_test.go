package script

import (
	"bufio"
	"context"
	"os/exec"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/test/harness"
)

// Signals that reach coop run or coop exec reach the command inside, and the
// command's own answer is the status.
func TestSignalsReachTheCommand(t *testing.T) {
	const command = `trap 'echo got it; exit 42' INT TERM HUP QUIT USR1 USR2; echo ready; while :; do read x || sleep 0.01; done`
	id := harness.Create(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		for verb, args := range map[string][]string{
			"exec": {"exec", id, "--", "sh", "-c", command},
			"run":  {"run", "--mode", "none", "--", "sh", "-c", command},
		} {
			t.Run(verb+" "+s.String(), func(t *testing.T) {
				cmd := harness.Shared().Command(t.Context(), args...)
				out, code := signalWhenReady(t, cmd, s)
				if out != "got it\n" || code != 42 {
					t.Errorf("%q, status %d", out, code)
				}
			})
		}
	}
}

// A command that does not catch the signal dies of it.
func TestASignalEndsTheCommand(t *testing.T) {
	id := harness.Create(t)
	cmd := harness.Shared().Command(t.Context(), "exec", id, "--", "sh", "-c", "echo ready; exec sleep 1000")
	if _, code := signalWhenReady(t, cmd, syscall.SIGTERM); code != 128+15 {
		t.Errorf("status %d", code)
	}
	if list, err := harness.Client(t).Processes(context.Background(), id); err != nil || list.Total != 0 {
		t.Errorf("still running: %+v, %v", list, err)
	}
}

// signalWhenReady waits for the line "ready" and returns what came after.
func signalWhenReady(t *testing.T, cmd *exec.Cmd, s syscall.Signal) (rest string, code int) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(stdout)
	if line, err := r.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	rest, _ = r.ReadString('\n') // nothing more is an answer too
	_ = cmd.Wait()               // the status says it
	return rest, cmd.ProcessState.ExitCode()
}
