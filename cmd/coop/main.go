// Command coop is the command line, the daemon and, where it was built without
// the small binary, PID 1: which of them is told by the name it is started under.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/cli"
	"github.com/coop-dev/coop/internal/daemon"
	"github.com/coop-dev/coop/internal/launch/initbin"
	"github.com/coop-dev/coop/internal/linux/probe"
	"github.com/coop-dev/coop/internal/linux/userns"
	"github.com/coop-dev/coop/internal/pid1"
	"github.com/coop-dev/coop/internal/sandbox"
)

// version and commit are set by the build.
var version, commit = "dev", ""

func main() {
	switch {
	case os.Args[0] == initbin.Arg0:
		os.Exit(pid1.Main())
	case os.Args[0] == userns.WaitArg0:
		fmt.Fprintln(os.Stderr, "coop: enter user namespace:", userns.Wait(os.Args)) // returns only on error
		os.Exit(1)
	case probe.MaybeChild(os.Args):
		return
	}
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, hooks()))
}

func hooks() cli.Hooks {
	return cli.Hooks{
		Daemon:      runDaemon,
		StartDaemon: startDaemon,
		HostChecks:  daemon.Checks,
		Version:     cli.Build{Version: version, Commit: commit, Go: runtime.Version(), API: "v1"},
	}
}

// runDaemon reads the few flags the daemon has.
func runDaemon(args []string) int {
	flags := flag.NewFlagSet("coop daemon", flag.ContinueOnError)
	home := flags.String("home", os.Getenv("COOP_HOME"), "where the daemon keeps its state")
	detached := flags.Bool("detached", false, "started by another command")
	if err := flags.Parse(args); err != nil {
		return api.ExitUsage
	}
	if *home == "" {
		*home = filepath.Join(os.Getenv("HOME"), ".coop")
	}
	abs, err := filepath.Abs(*home)
	if err != nil {
		fmt.Fprintln(os.Stderr, "coop:", err)
		return api.ExitError
	}
	return daemon.Main(daemon.Options{Home: abs, Detached: *detached, Build: daemon.Build{Version: version, Commit: commit}})
}

// startDaemon gives the command line its own kind of error.
func startDaemon(ctx context.Context, home string) error {
	err := daemon.Start(ctx, home)
	var e *sandbox.Error
	if errors.As(err, &e) {
		return &api.Error{Code: string(e.Code), Message: e.Message, Hint: e.Hint, Details: e.Details}
	}
	return err
}
