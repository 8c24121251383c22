package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

type rebaseOptions struct{ force bool }

func newRebase(a *app) *cobra.Command {
	o := &rebaseOptions{}
	cmd := &cobra.Command{
		Use:   "rebase [SANDBOX]",
		Short: "take the project's present state as the new base",
		Long: `Takes the project's present state as what the sandbox's changes are judged
against. What both sides have changed is merged into the workspace; what cannot
be merged stays a conflict, unless --force says that the sandbox's version counts.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeOne,
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "the sandbox's version counts where it cannot be merged")
	return cmd
}

func (o *rebaseOptions) run(ctx context.Context, a *app, args []string) error {
	return a.onReviewed(ctx, args, func(c *client.Client, ref string) error {
		res, err := c.Rebase(ctx, ref, api.RebaseRequest{Force: o.force})
		if err != nil {
			return err
		}
		a.tell(res.Notes)
		if a.flags.json {
			return a.printJSON(res)
		}
		for _, p := range res.Merged {
			if err := a.printLine(p); err != nil {
				return err
			}
		}
		for _, c := range res.Conflicts {
			a.note("conflict: %s: %s", c.FilePath, c.Reason)
		}
		if len(res.Conflicts) > 0 {
			return &statusError{status: api.ExitError, err: &api.Error{
				Code: api.CodeConflict, Message: fmt.Sprintf("%d merged, %d still in conflict", len(res.Merged), len(res.Conflicts)),
				Hint: "coop conflicts shows both sides; edit them in the sandbox, or add --force",
			}}
		}
		a.note("%d merged, no conflicts", len(res.Merged))
		return nil
	})
}
