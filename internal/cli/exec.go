package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
)

type execOptions struct {
	exec execFlags
	env  []string
	user string

	sandbox []string // none or one
	command []string
}

func newExec(a *app) *cobra.Command {
	o := &execOptions{}
	cmd := &cobra.Command{
		Use:   "exec [flags] [SANDBOX] -- CMD…",
		Short: "run a command in a sandbox that is there",
		Args:  func(cmd *cobra.Command, args []string) error { return o.split(cmd, a, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return asCommand(o.run(cmd.Context(), a, cmd.Flags().Changed("tty")))
		},

		ValidArgsFunction: a.completeOne,
	}
	o.exec.add(cmd.Flags())
	cmd.Flags().StringArrayVarP(&o.env, "env", "e", nil, "K=V, or K for the value it has here")
	cmd.Flags().StringVarP(&o.user, "user", "u", "", "name, uid or uid:gid inside")
	cmd.Flags().SetInterspersed(false) // what follows CMD is CMD's
	return cmd
}

// split finds SANDBOX and CMD. Flags end at the first word, so that
// "-s BOX ls -l" works; with SANDBOX as that word, more flags may follow it up
// to the "--".
func (o *execOptions) split(cmd *cobra.Command, a *app, args []string) error {
	needed := &usageError{message: "exec needs -- before the command", hint: "coop exec [SANDBOX] -- CMD…, or coop exec -s SANDBOX CMD…"}
	switch dash := slices.Index(args, "--"); {
	case cmd.ArgsLenAtDash() == 0, a.flags.sandbox != "":
		o.command = args
	case dash < 0:
		return needed
	default:
		if err := cmd.ParseFlags(args[1:dash]); err != nil {
			return &usageError{message: err.Error(), hint: needed.hint}
		}
		if cmd.Flags().NArg() > 0 {
			return &usageError{message: "exec takes one sandbox", hint: needed.hint}
		}
		o.sandbox, o.command = args[:1], args[dash+1:]
	}
	if len(o.command) == 0 || o.command[0] == "" {
		return &usageError{message: "exec needs a command", hint: needed.hint}
	}
	return nil
}

func (o *execOptions) run(ctx context.Context, a *app, asked bool) error {
	req, err := o.exec.request(o.command, a.streams.In)
	if err != nil {
		return err
	}
	if req.Env, err = envMap(o.env); err != nil {
		return err
	}
	req.User = o.user
	tty, err := o.exec.terminal(a, asked, false)
	if err != nil {
		return err
	}
	c, ref, err := a.reach(ctx, o.sandbox)
	if err != nil {
		return err
	}
	defer c.Close()
	if tty != nil {
		return commandEnd(a.openTerminal(ctx, c, tty, ref, onTerminal(req), o.exec.view))
	}
	e, _ := a.attach(ctx, c, ref, req)
	if e.err != nil {
		return e.err
	}
	return finished(e.result)
}
