package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
)

// attachOptions are those of "attach" and of "terminal attach".
type attachOptions struct {
	view     viewFlags
	terminal int
	readOnly bool
	older    bool
}

func newAttach(a *app) *cobra.Command {
	o := &attachOptions{}
	cmd := &cobra.Command{
		Use:   "attach [--terminal N] [--read-only] [SANDBOX]",
		Short: "work on a terminal of a sandbox",
		Long: `Show a terminal of a sandbox, the agent's unless --terminal says another one,
and type on it. Ctrl+] leaves; everything goes on running.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeOne,
	}
	o.add(cmd)
	cmd.Flags().IntVar(&o.terminal, "terminal", 0, "number of the terminal")
	mustRegister(cmd.RegisterFlagCompletionFunc("terminal", a.completeTerminalFlag))
	return cmd
}

func newTerminalAttach(a *app) *cobra.Command {
	o := &attachOptions{}
	cmd := &cobra.Command{
		Use:   "attach [--read-only] N",
		Short: "work on a terminal",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.terminal, err = terminalNumber(args[0]); err != nil {
				return err
			}
			return o.run(cmd.Context(), a, nil)
		},

		ValidArgsFunction: a.completeTerminal,
	}
	o.add(cmd)
	return cmd
}

func (o *attachOptions) add(cmd *cobra.Command) {
	o.view.add(cmd.Flags())
	cmd.Flags().BoolVar(&o.readOnly, "read-only", false, "look on, type nothing")
	cmd.Flags().BoolVar(&o.older, "scrollback", false, "print older lines first, to scroll back to")
}

func (o *attachOptions) run(ctx context.Context, a *app, args []string) error {
	if o.terminal < 0 {
		return &usageError{message: "--terminal cannot be negative"}
	}
	tty := a.localTerminal()
	if tty == nil {
		return errNoTerminal("coop logs shows what a terminal printed, coop exec runs a command without one")
	}
	c, ref, err := a.reach(ctx, args)
	if err != nil {
		return err
	}
	defer c.Close()
	sb, err := c.Get(ctx, ref)
	if err != nil {
		return err
	}
	return o.show(ctx, a, tty, sb)
}

func (o *attachOptions) show(ctx context.Context, a *app, tty *localTerminal, sb *api.Sandbox) error {
	keys, err := a.detachKey(o.view, sb)
	if err != nil {
		return err
	}
	t := target{sandbox: sb, number: o.terminal, readOnly: o.readOnly, older: o.older, keys: keys}
	return a.programEnd(ctx, a.showTerminal(ctx, tty, t), tty, t)
}
