package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/client"
)

// logsOptions are those of "logs" and of "terminal logs".
type logsOptions struct {
	follow   bool
	raw      bool
	lines    int
	terminal int
}

func newLogs(a *app) *cobra.Command {
	o := &logsOptions{}
	cmd := &cobra.Command{
		Use:   "logs [-f] [-n N] [--terminal N] [SANDBOX]",
		Short: "what a terminal printed",
		Long: `Print what a terminal of a sandbox printed, the agent's unless --terminal says
another one. It is there after the program has ended and the sandbox has been
stopped, too.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, a, args) },

		ValidArgsFunction: a.completeOne,
	}
	o.add(cmd)
	cmd.Flags().IntVar(&o.terminal, "terminal", 0, "number of the terminal")
	mustRegister(cmd.RegisterFlagCompletionFunc("terminal", a.completeTerminalFlag))
	return cmd
}

func newTerminalLogs(a *app) *cobra.Command {
	o := &logsOptions{}
	cmd := &cobra.Command{
		Use:   "logs [-f] [-n N] N",
		Short: "what a terminal printed",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.terminal, err = terminalNumber(args[0]); err != nil {
				return err
			}
			return o.run(cmd, a, nil)
		},

		ValidArgsFunction: a.completeTerminal,
	}
	o.add(cmd)
	return cmd
}

func (o *logsOptions) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on with what is printed from now on")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "every byte as it was printed; your terminal will obey it")
	cmd.Flags().IntVarP(&o.lines, "lines", "n", 0, "only the last N lines")
}

func (o *logsOptions) run(cmd *cobra.Command, a *app, args []string) error {
	switch {
	case o.terminal < 0:
		return &usageError{message: "--terminal cannot be negative"}
	case cmd.Flags().Changed("lines") && o.lines < 1:
		return &usageError{message: "-n needs a number above 0"}
	}
	ctx := cmd.Context()
	c, ref, err := a.reach(ctx, args)
	if err != nil {
		return err
	}
	defer c.Close()
	return o.print(ctx, a, c, ref)
}

func (o *logsOptions) print(ctx context.Context, a *app, c *client.Client, ref string) error {
	log, err := c.TerminalLogs(ctx, ref, o.terminal, client.LogOptions{Follow: o.follow, Tail: o.lines, Raw: o.raw})
	if err != nil {
		return err
	}
	defer log.Close()
	var out io.Writer = a.streams.Out
	if !o.raw {
		out = &logText{w: out, colours: a.colours()}
	}
	_, err = io.Copy(out, log)
	if o.follow && errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return err
}
