package cli

import (
	"context"

	"github.com/spf13/cobra"
)

func newStart(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "start [SANDBOX]",
		Short: "run a stopped sandbox again",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE:  func(cmd *cobra.Command, args []string) error { return start(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeOne,
	}
}

func start(ctx context.Context, a *app, args []string) error {
	c, ref, err := a.reach(ctx, args)
	if err != nil {
		return err
	}
	defer c.Close()
	sb, err := c.Start(ctx, ref)
	if err != nil {
		return err
	}
	a.warnDegraded(sb)
	return a.changed(sb, "started")
}
