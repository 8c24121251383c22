package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
)

type stopOptions struct{ grace time.Duration }

func newStop(a *app) *cobra.Command {
	o := &stopOptions{}
	cmd := &cobra.Command{
		Use:   "stop [--grace D] [SANDBOX]",
		Short: "end everything in a sandbox, keep its files",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("grace") && o.grace == 0 {
				o.grace = time.Millisecond // the API takes 0 for the default
			}
			return o.run(cmd.Context(), a, args)
		},

		ValidArgsFunction: a.completeOne,
	}
	cmd.Flags().DurationVar(&o.grace, "grace", 0, "time between SIGTERM and SIGKILL (default 5s)")
	return cmd
}

func (o *stopOptions) run(ctx context.Context, a *app, args []string) error {
	if o.grace < 0 {
		return &usageError{message: "--grace cannot be negative"}
	}
	c, ref, err := a.reach(ctx, args)
	if err != nil {
		return err
	}
	defer c.Close()
	sb, err := c.Stop(ctx, ref, api.StopRequest{Grace: api.Duration(o.grace)})
	if err != nil {
		return err
	}
	return a.changed(sb, "stopped")
}

// changed tells of a sandbox that another state now has.
func (a *app) changed(sb *api.Sandbox, what string) error {
	if a.flags.json {
		return a.printJSON(sb)
	}
	a.detail("%s %s", what, sb.Name)
	return nil
}
