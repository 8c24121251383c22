package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/coop-dev/coop/api"
)

// Streams are the three a program begins with. A nil In is no input.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Build tells which program this is.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	API     string `json:"api"`
}

// Hooks are what the command line needs from above the client.
type Hooks struct {
	// Daemon is the verb "daemon": it gets every argument but the verb, global
	// flags included, and returns the exit status.
	Daemon func(args []string) int
	// StartDaemon returns once a daemon for home answers. An *api.Error it
	// returns is shown with its hint.
	StartDaemon func(ctx context.Context, home string) error
	// HostChecks looks at this host without a daemon.
	HostChecks func(ctx context.Context, home string) []api.Check
	// Version is this program's.
	Version Build
}

// app is one invocation.
type app struct {
	streams Streams
	hooks   Hooks
	flags   globalFlags
}

// Main runs one invocation and returns its exit status.
func Main(args []string, streams Streams, hooks Hooks) int {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer restore()
	// The first signal cancels; a second one, when something does not heed
	// that, kills as it would any program.
	defer context.AfterFunc(ctx, restore)()

	a := &app{streams: streams, hooks: hooks}
	root := newRoot(a)
	if args == nil {
		args = []string{} // cobra takes nil for "use os.Args"
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.reportError(err)
	return exitStatus(err)
}
