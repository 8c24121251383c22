package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// The table of exit.go, row by row.
func TestExitStatus(t *testing.T) {
	notFound := &api.Error{Code: api.CodeNotFound, Details: map[string]any{"exitCode": 127.0}}
	for _, row := range []struct {
		err          error
		verb, runner int
	}{
		{nil, 0, 0},
		{&statusError{status: 42}, 42, 42},
		{&usageError{}, 2, 2},
		{fmt.Errorf("x: %w", context.Canceled), 130, 130},
		{fmt.Errorf("write output: %w", syscall.EPIPE), 141, 141},
		{fmt.Errorf("%w: %w", client.ErrLost, syscall.EPIPE), 4, 125},
		{client.ErrUnreachable, 4, 125},
		{context.DeadlineExceeded, 4, 125},
		{fmt.Errorf("%w: %w", client.ErrUnreachable, &api.Error{Code: api.CodeUnsupported}), 4, 125},
		{notFound, 3, 127},
		{&api.Error{Code: api.CodeInvalid, Details: map[string]any{"exitCode": 126.0}}, 2, 126},
		{&api.Error{Code: api.CodeInvalid, Details: map[string]any{"exitCode": "127"}}, 2, 125},
		{&api.Error{Code: api.CodeInvalid, Details: map[string]any{"exitCode": 0.0}}, 2, 125},
		{&api.Error{Code: api.CodeGone}, 3, 125},
		{&api.Error{Code: api.CodeTimeout}, 124, 124},
		{&api.Error{Code: api.CodeInternal}, 1, 125},
		{&api.Error{Code: "newer"}, 1, 125},
		{errors.New("else"), 1, 125},
	} {
		if got := exitStatus(row.err); got != row.verb {
			t.Errorf("%v: %d, want %d", row.err, got, row.verb)
		}
		if got := exitStatus(asCommand(row.err)); got != row.runner {
			t.Errorf("run, %v: %d, want %d", row.err, got, row.runner)
		}
	}
}

func TestCommandStatus(t *testing.T) {
	for _, row := range []struct {
		result api.ExecResult
		want   int
	}{
		{api.ExecResult{}, 0},
		{api.ExecResult{ExitCode: 255}, 255},
		{api.ExecResult{ExitCode: 256 + 3}, 3},
		{api.ExecResult{ExitCode: 137, Signal: "SIGKILL"}, 137},
		{api.ExecResult{ExitCode: -1, Signal: "TERM"}, 143},
		{api.ExecResult{ExitCode: 128 + 40, Signal: "SIGRTMIN+6"}, 168},
		{api.ExecResult{ExitCode: 137, Signal: "SIGKILL", TimedOut: true}, 124},
	} {
		if got := exitStatus(finished(&row.result)); got != row.want {
			t.Errorf("%+v: %d, want %d", row.result, got, row.want)
		}
	}
}

func TestStatusOfVerbs(t *testing.T) {
	w := newWorld(t)
	for _, verb := range []string{"inspect", "stop", "start", "rm", "ps"} {
		w.want(t, 3, "", "coop: no sandbox \"nobody\"\nhint: coop ls\n", verb, "nobody")
		w.want(t, 3, "", "coop: no sandbox \"nobody\"\nhint: coop ls\n", verb, "-s", "nobody")
	}
	w.want(t, 125, "", "coop: no sandbox \"nobody\"\nhint: coop ls\n", "exec", "nobody", "--", "ls")
	w.want(t, 2, "", "coop: stdin and stdout are not a terminal\nhint: leave out -t\n", "run", "-t", "--", "ls")
}

func TestUnreachableDaemon(t *testing.T) {
	w := unstarted(t)
	w.hooks.StartDaemon = func(context.Context, string) error {
		w.starts++
		return &api.Error{Code: api.CodeUnavailable, Message: "no user namespaces", Hint: "coop doctor"}
	}
	for verb, want := range map[string]int{"ls": 4, "inspect x": 4, "rm --all": 4, "create": 4, "run -- ls": 125, "exec x -- ls": 125} {
		w.starts = 0
		w.want(t, want, "", "coop: daemon unreachable: no user namespaces\nhint: coop doctor\n", strings.Fields(verb)...)
		if w.starts != 1 {
			t.Errorf("%s started the daemon %d times", verb, w.starts)
		}
	}
}

func TestCommandNotFoundAndErrorFrames(t *testing.T) {
	w := newWorld(t)
	w.daemon.Command = func(s *fakedaemon.Session) {
		s.Control(api.Control{Type: "error", Error: &api.Error{Code: api.CodeNotFound, Message: "nosuch: not found", Details: map[string]any{"exitCode": 127}}})
	}
	w.want(t, 127, "", "coop: nosuch: not found\n", "run", "nosuch")
	if n := len(w.daemon.Sandboxes()); n != 0 {
		t.Errorf("%d sandboxes left", n)
	}
	w.daemon.Command = func(s *fakedaemon.Session) { s.Stdout([]byte("half")) }
	w.want(t, 125, "half", "coop: sandbox box-2 may still be running\ncoop: connection to the daemon lost\n", "run", "x")
	if n := len(w.daemon.Sandboxes()); n != 1 {
		t.Errorf("%d sandboxes left, want the one that may have work in it", n)
	}
}
