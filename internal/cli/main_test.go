package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// beCoop makes the test binary be coop itself, for tests that need a real
// process: signals, pipes.
const beCoop = "COOP_TEST_BE_COOP"

// asVersion is the version it has then; without one it compares none.
const asVersion = "COOP_TEST_VERSION"

func TestMain(m *testing.M) {
	if os.Getenv(beShell) != "" {
		os.Exit(shellMain())
	}
	if os.Getenv(beCoop) != "" {
		hooks := Hooks{Version: Build{Version: os.Getenv(asVersion)}, StartDaemon: func(context.Context, string) error { return nil }}
		os.Exit(Main(os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, hooks))
	}
	goleak.VerifyTestMain(m)
}

// world is one person at one terminal, with a fake daemon.
type world struct {
	daemon *fakedaemon.Daemon
	hooks  Hooks
	stdin  io.Reader
	starts int
}

// newWorld has a daemon that listens and a current directory of its own.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := unstarted(t)
	w.daemon.Listen(t)
	return w
}

// unstarted has a daemon that listens once StartDaemon is called.
func unstarted(t *testing.T) *world {
	t.Helper()
	w := &world{daemon: fakedaemon.New(t)}
	w.daemon.Command = func(s *fakedaemon.Session) { s.Exit(0) }
	w.hooks = Hooks{
		Daemon:      func([]string) int { return 0 },
		StartDaemon: func(context.Context, string) error { w.starts++; w.daemon.Listen(t); return nil },
		HostChecks:  func(context.Context, string) []api.Check { return nil },
		Version:     Build{Version: "dev", Go: "go1", API: "v1"},
	}
	for _, name := range []string{"COOP_HOST", "COOP_TOKEN", "NO_COLOR"} {
		t.Setenv(name, "")
	}
	t.Setenv("COOP_HOME", w.daemon.Home)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	return w
}

func (w *world) coop(args ...string) (status int, stdout, stderr string) {
	w.daemon.Settle()
	var out, errOut bytes.Buffer
	status = Main(args, Streams{In: w.stdin, Out: &out, Err: &errOut}, w.hooks)
	return status, out.String(), errOut.String()
}

// want runs a command line and compares all it did.
func (w *world) want(t *testing.T, status int, stdout, stderr string, args ...string) {
	t.Helper()
	gotStatus, gotOut, gotErr := w.coop(args...)
	if gotStatus != status || gotOut != stdout || gotErr != stderr {
		t.Errorf("coop %s\n got %d\n%q\n%q\nwant %d\n%q\n%q", strings.Join(args, " "), gotStatus, gotOut, gotErr, status, stdout, stderr)
	}
}

// sent reports whether the daemon got a request.
func (w *world) sent(request string) bool {
	for _, r := range w.daemon.Requests() {
		if r == request {
			return true
		}
	}
	return false
}
