package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "tell about the daemon",
		Long:  "Tell about the daemon. Exit 4 if none runs; this verb does not start one.",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return daemonStatus(cmd.Context(), a) },
	}
}

// statusAnswer is status --json: two answers of the API, as they came.
type statusAnswer struct {
	Version *api.Version `json:"version"`
	Health  *api.Health  `json:"health"`
}

func daemonStatus(ctx context.Context, a *app) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	c, err := a.peek(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var answer statusAnswer
	if answer.Version, err = c.Version(ctx); err == nil {
		answer.Health, err = c.Health(ctx)
	}
	if errors.Is(err, client.ErrUnreachable) {
		a.detail("%s", err)
		return &statusError{status: api.ExitUnreachable, err: errors.New("no daemon is running")}
	}
	if err != nil {
		return err
	}
	if err := a.printStatus(answer); err != nil {
		return err
	}
	if a.hooks.Version.Version != "" && !a.sameVersion(answer.Version) {
		a.warnVersion(answer.Version)
	}
	return nil
}

func (a *app) printStatus(s statusAnswer) error {
	a.tell(s.Health.Notes)
	switch {
	case a.flags.json:
		return a.printJSON(s)
	case a.flags.quiet:
		return a.printLine(strconv.Itoa(s.Version.PID))
	}
	return a.printTable([][]string{
		{"status:", s.Health.Status},
		{"version:", s.Version.Version},
		{"pid:", strconv.Itoa(s.Version.PID)},
		{"uptime:", since(s.Version.StartedAt)},
		{"mode:", orDash(s.Version.Mode)},
		{"driver:", orDash(s.Health.Driver)},
		{"sandboxes:", fmt.Sprintf("%d, %d running", s.Health.Sandboxes, s.Health.Running)},
		{"home:", orDash(s.Version.Home)},
	})
}
