package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "tell the version of this program and of the daemon",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return version(cmd.Context(), a) },
	}
}

// versionAnswer is version --json; Daemon is null when none runs.
type versionAnswer struct {
	Client Build        `json:"client"`
	Daemon *api.Version `json:"daemon"`
}

func version(ctx context.Context, a *app) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	c, err := a.peek(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	answer := versionAnswer{Client: a.hooks.Version}
	answer.Daemon, err = c.Version(ctx)
	if err != nil && !errors.Is(err, client.ErrUnreachable) {
		a.note("warning: daemon: %s", err) // our own version is still an answer
	}
	if err := a.printVersions(answer); err != nil {
		return err
	}
	if answer.Daemon != nil && !a.sameVersion(answer.Daemon) {
		a.warnVersion(answer.Daemon)
	}
	return nil
}

func (a *app) printVersions(v versionAnswer) error {
	if a.flags.json {
		return a.printJSON(v)
	}
	if a.flags.quiet {
		return a.printLine(v.Client.Version)
	}
	rows := [][]string{{"client:", versionLine(v.Client.Version, v.Client.Commit, v.Client.Go)}}
	if v.Daemon == nil {
		rows = append(rows, []string{"daemon:", "not running"})
	} else {
		rows = append(rows, []string{"daemon:", versionLine(v.Daemon.Version, v.Daemon.Commit, v.Daemon.Go)})
	}
	return a.printTable(rows)
}

func versionLine(version, commit, goVersion string) string {
	if commit != "" {
		version += " (" + commit + ")"
	}
	return version + " " + goVersion
}
