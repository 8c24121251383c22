package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

type shellOptions struct {
	view    viewFlags
	command string
	fresh   bool
	workdir string
	user    string
}

func newShell(a *app) *cobra.Command {
	o := &shellOptions{}
	cmd := &cobra.Command{
		Use:   "shell [-c CMD] [--new] [SANDBOX]",
		Short: "a shell in a sandbox",
		Long: `A shell in a sandbox: the one that is there, or a new one. With -c it runs one
command and exits with its status; with a pipe as stdin it runs what comes from
it.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asCommand(o.run(cmd.Context(), a, args, cmd.Flags().Changed("command")))
		},

		ValidArgsFunction: a.completeOne,
	}
	o.view.add(cmd.Flags())
	cmd.Flags().StringVarP(&o.command, "command", "c", "", "run this by the shell, instead of typing it")
	cmd.Flags().BoolVar(&o.fresh, "new", false, "another shell, even if one is there")
	cmd.Flags().StringVarP(&o.workdir, "workdir", "w", "", "directory inside to begin in")
	cmd.Flags().StringVarP(&o.user, "user", "u", "", "name, uid or uid:gid inside")
	return cmd
}

func (o *shellOptions) run(ctx context.Context, a *app, args []string, given bool) error {
	switch {
	case given && o.command == "":
		return &usageError{message: "-c needs a command"}
	case given && o.fresh:
		return &usageError{message: "-c and --new contradict each other"}
	}
	c, ref, err := a.reach(ctx, args)
	if err != nil {
		return err
	}
	defer c.Close()
	if tty := a.localTerminal(); tty != nil {
		return o.onTerminal(ctx, a, c, tty, ref)
	}
	return o.piped(ctx, a, c, ref)
}

// anyShell is the person's own inside, if they have one.
const anyShell = `exec "${SHELL:-/bin/sh}"`

// piped runs the command, or what comes through the pipe, without a terminal.
func (o *shellOptions) piped(ctx context.Context, a *app, c *client.Client, ref string) error {
	req := api.ExecRequest{Command: o.command, WorkingDir: o.workdir, User: o.user, Interactive: hasInput(a.streams.In)}
	if o.command == "" {
		req.Command = anyShell
	}
	e, _ := a.attach(ctx, c, ref, req)
	if e.err != nil {
		return e.err
	}
	return finished(e.result)
}

func (o *shellOptions) onTerminal(ctx context.Context, a *app, c *client.Client, tty *localTerminal, ref string) error {
	req := api.TerminalRequest{
		Role: api.RoleShell, Env: terminalEnv(nil), WorkingDir: o.workdir, User: o.user,
		Reuse: !o.fresh && o.workdir == "" && o.user == "", // those are of a shell of its own
	}
	if o.command != "" {
		req.Role, req.Command, req.Reuse = api.RoleExec, o.command, false
	}
	return commandEnd(a.openTerminal(ctx, c, tty, ref, req, o.view))
}
