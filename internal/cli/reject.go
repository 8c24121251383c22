package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

func newReject(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reject [SANDBOX]",
		Short: "drop all changes",
		Long: `Drops every change of a sandbox: its workspace is again what the project is. The
sandbox itself stays; coop rm removes it.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return reject(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeOne,
	}
}

func reject(ctx context.Context, a *app, args []string) error {
	return a.onReviewed(ctx, args, func(c *client.Client, ref string) error {
		res, err := c.Reject(ctx, ref, api.RejectRequest{})
		if err != nil {
			return err
		}
		return a.printDiscarded(res)
	})
}
