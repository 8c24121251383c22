package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

func newDiscard(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "discard PATH…",
		Short: "drop some changes",
		Long: `Makes files of the workspace what they are in the project: what was changed is
as before, what was added is gone, what was deleted is back. The sandbox may run.`,
		Args: usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return discard(cmd.Context(), a, args) },
	}
}

func discard(ctx context.Context, a *app, args []string) error {
	return a.onReviewed(ctx, nil, func(c *client.Client, ref string) error {
		paths, err := a.workspacePaths(ctx, c, ref, args)
		if err != nil {
			return err
		}
		res, err := c.Discard(ctx, ref, api.DiscardRequest{Files: paths})
		if err != nil {
			return err
		}
		return a.printDiscarded(res)
	})
}

// onReviewed connects and finds the sandbox.
func (a *app) onReviewed(ctx context.Context, args []string, do func(c *client.Client, ref string) error) error {
	c, ref, err := a.reach(ctx, args)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c, ref)
}

func (a *app) printDiscarded(res *api.DiscardResult) error {
	a.tell(res.Notes)
	if a.flags.json {
		return a.printJSON(res)
	}
	for _, p := range res.Discarded {
		if err := a.printLine(p); err != nil {
			return err
		}
	}
	a.note("%s", settledLine(len(res.Discarded), "dropped", res.Remaining))
	return nil
}
