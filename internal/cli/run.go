package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

type runOptions struct {
	spec         specFlags
	exec         execFlags
	remove, keep bool
}

func newRun(a *app) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run [flags] [--] CMD…",
		Short: "run a command in a new sandbox",
		Long: `Create a sandbox of the current directory, run CMD in it with your terminal or
your pipes, and exit with its status. The sandbox is kept if there are changes to review.`,
		Args: func(_ *cobra.Command, args []string) error { return o.check(a, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return asCommand(o.run(cmd.Context(), a, args, cmd.Flags().Changed("tty")))
		},
	}
	o.spec.add(cmd.Flags())
	o.exec.add(cmd.Flags())
	cmd.Flags().BoolVar(&o.remove, "rm", false, "always delete the sandbox afterwards")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "never delete it")
	cmd.Flags().SetInterspersed(false) // "coop run ls -l" is ls with -l
	return cmd
}

func (o *runOptions) check(a *app, args []string) error {
	switch {
	case len(args) > 0 && args[0] == "":
		return errNoCommand
	case o.remove && o.keep:
		return &usageError{message: "--rm and --keep contradict each other"}
	case a.flags.sandbox != "":
		return &usageError{message: "run makes a sandbox of its own", hint: "coop exec -s " + a.flags.sandbox + " -- CMD…, or --name for the new one"}
	}
	return nil
}

func (o *runOptions) onExit() string {
	switch {
	case o.remove:
		return "remove"
	case o.keep:
		return "keep"
	}
	return "removeIfUnchanged"
}

func (o *runOptions) run(ctx context.Context, a *app, command []string, asked bool) error {
	dir, err := workingDir()
	if err != nil {
		return err
	}
	req, _, err := a.createRequest(dir, &o.spec)
	if err != nil {
		return err
	}
	if len(command) == 0 && (req.Image == "" || req.Image == "host") {
		return errNoCommand
	}
	exec, err := o.exec.request(orNothing(command), a.streams.In)
	if err != nil {
		return err
	}
	exec.User, exec.OnExit = o.spec.user, o.onExit()
	tty, err := o.exec.terminal(a, asked, true)
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
	if len(command) == 0 {
		if sb.Agent.Command == "" {
			o.afterFailure(ctx, a, c, sb, ended{}, false)
			return &usageError{message: "the image names no command", hint: errNoCommand.hint}
		}
		exec.Command, exec.Args = sb.Agent.Command, &sb.Agent.Args
	}
	if tty != nil {
		return o.onTerminal(ctx, a, c, tty, sb, exec)
	}
	e, attached := a.attach(ctx, c, sb.ID, exec)
	if e.err != nil {
		o.afterFailure(ctx, a, c, sb, e, attached)
		return e.err
	}
	o.afterwards(a, sb, e.kept)
	return finished(e.result)
}

// onTerminal runs the command on the person's terminal. Who detaches leaves a
// sandbox behind that goes by OnExit when the command ends.
func (o *runOptions) onTerminal(ctx context.Context, a *app, c *client.Client, tty *localTerminal, sb *api.Sandbox, exec api.ExecRequest) error {
	out := a.openTerminal(ctx, c, tty, sb.ID, onTerminal(exec), o.exec.view)
	switch {
	case out.err != nil:
		o.afterFailure(ctx, a, c, sb, ended{err: out.err, kept: out.kept}, out.shown)
	case !out.detached:
		o.afterwards(a, sb, out.kept)
	}
	return commandEnd(out)
}

var errNoCommand = &usageError{message: "run needs a command", hint: "coop run -- CMD…"}

// orNothing stands in for the command of an image, which is known later.
func orNothing(command []string) []string {
	if len(command) == 0 {
		return []string{""}
	}
	return command
}

// afterwards tells of a sandbox that is still there.
func (o *runOptions) afterwards(a *app, sb *api.Sandbox, kept *bool) {
	switch {
	case a.flags.quiet:
		return
	case o.keep:
		a.message("kept sandbox %s", sb.Name)
	case kept != nil && *kept:
		a.message("kept sandbox %s: it has changes", sb.Name)
	default:
		return
	}
	a.hint("look with coop inspect %[1]s, remove with coop rm %[1]s", sb.Name)
}

// afterFailure deletes the sandbox of a command that never ran. Once it ran
// there may be work in it, and what becomes of that the daemon decides by
// OnExit, also after we are gone.
func (o *runOptions) afterFailure(ctx context.Context, a *app, c *client.Client, sb *api.Sandbox, e ended, attached bool) {
	switch {
	case errors.Is(e.err, client.ErrLost) && attached:
		a.message("sandbox %s may still be running", sb.Name)
		return
	case e.kept != nil:
		o.afterwards(a, sb, e.kept)
		return
	case o.keep:
		o.afterwards(a, sb, nil)
		return
	case attached && !neverRan(e.err):
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := c.Delete(ctx, sb.ID); err != nil && !isGone(err) {
		a.message("sandbox %s is still there: %s", sb.Name, err)
		a.hint("remove it with coop rm -f %s", sb.Name)
	}
}

func neverRan(err error) bool {
	s := commandExit(err)
	return s == api.ExitCannotExec || s == api.ExitNoCommand
}

func isGone(err error) bool {
	var failure *api.Error
	return errors.As(err, &failure) && (failure.Code == api.CodeNotFound || failure.Code == api.CodeGone)
}
