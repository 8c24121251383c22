package cli

import (
	"context"

	"github.com/spf13/cobra"
)

type createOptions struct{ spec specFlags }

func newCreate(a *app) *cobra.Command {
	o := &createOptions{}
	cmd := &cobra.Command{
		Use:   "create [flags]",
		Short: "create and start a sandbox, print its id",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	o.spec.add(cmd.Flags())
	return cmd
}

func (o *createOptions) run(ctx context.Context, a *app) error {
	if a.flags.sandbox != "" {
		return &usageError{message: "create makes a new sandbox", hint: "--name gives it a name"}
	}
	dir, err := workingDir()
	if err != nil {
		return err
	}
	req, _, err := a.createRequest(dir, &o.spec)
	if err != nil {
		return err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	sb, err := a.createSandbox(ctx, c, req, o.spec.pull)
	if err != nil {
		return err
	}
	a.warnDegraded(sb)
	if a.flags.json {
		return a.printJSON(sb)
	}
	return a.printLine(sb.ID)
}
