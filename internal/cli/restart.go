package cli

import (
	"context"

	"github.com/spf13/cobra"
)

func newRestart(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restart [SANDBOX]",
		Short: "start the agent again, as coop.toml says now",
		Long: `End the agent and start it again, with what coop.toml says now. Who is attached
stays attached. A stopped sandbox is started.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return restart(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeOne,
	}
}

func restart(ctx context.Context, a *app, args []string) error {
	c, ref, err := a.reach(ctx, args)
	if err != nil {
		return err
	}
	defer c.Close()
	sb, err := c.Get(ctx, ref)
	if err != nil {
		return err
	}
	req, err := a.restartRequestOf(sb)
	if err != nil {
		return err
	}
	sb, err = c.Restart(ctx, sb.ID, req)
	if err != nil {
		return err
	}
	a.warnDegraded(sb)
	return a.changed(sb, "restarted")
}
