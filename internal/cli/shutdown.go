package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/client"
)

type shutdownOptions struct{ keep bool }

func newShutdown(a *app) *cobra.Command {
	o := &shutdownOptions{}
	cmd := &cobra.Command{
		Use:   "shutdown [--keep]",
		Short: "stop every sandbox and end the daemon",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	cmd.Flags().BoolVar(&o.keep, "keep", false, "leave sandboxes running; the next daemon finds them again")
	return cmd
}

func (o *shutdownOptions) run(ctx context.Context, a *app) error {
	c, err := a.peek(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.Shutdown(ctx, o.keep)
	if errors.Is(err, client.ErrUnreachable) {
		a.note("no daemon is running")
		return nil
	}
	return err
}
