package cli

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

// hereOptions are those of "coop" without a verb: the sandbox of this
// directory.
type hereOptions struct {
	view     viewFlags
	detached bool
	rebuild  bool
}

func (o *hereOptions) add(cmd *cobra.Command) {
	o.view.add(cmd.Flags())
	cmd.Flags().BoolVarP(&o.detached, "detached", "d", false, "do not attach, print the sandbox's id")
	cmd.Flags().BoolVarP(&o.rebuild, "build", "b", false, "build the base again first")
}

func (o *hereOptions) run(ctx context.Context, a *app) error {
	if o.rebuild {
		return &api.Error{Code: api.CodeUnsupported, Message: "there are no bases to build yet", Hint: "leave out -b"}
	}
	tty := a.localTerminal()
	if tty == nil && !o.detached {
		return errNoTerminal("coop -d makes the sandbox of this directory without attaching; coop --help lists the verbs")
	}
	if err := o.view.check(); err != nil {
		return err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	sb, err := a.sandboxHere(ctx, c)
	if err != nil {
		return err
	}
	switch {
	case !o.detached:
		attach := attachOptions{view: o.view}
		return attach.show(ctx, a, tty, sb)
	case a.flags.json:
		return a.printJSON(sb)
	}
	return a.printLine(sb.ID)
}

// sandboxHere is the sandbox of this directory, running: found, started or made.
func (a *app) sandboxHere(ctx context.Context, c *client.Client) (*api.Sandbox, error) {
	ref, err := a.resolve(ctx, c, nil)
	if isNoSandbox(err) && a.flags.sandbox == "" {
		return a.createHere(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	sb, err := c.Get(ctx, ref)
	if err != nil || sb.Status != "stopped" {
		return sb, err
	}
	a.note("starting %s", sb.Name)
	sb, err = c.Start(ctx, sb.ID)
	if err != nil {
		return nil, err
	}
	a.warnDegraded(sb)
	return sb, nil
}

func isNoSandbox(err error) bool {
	var failure *api.Error
	return errors.As(err, &failure) && failure.Code == api.CodeNotFound
}

// createHere makes the sandbox under the directory's name. That name is what
// decides between two commands that do so at the same time: the second one
// finds the sandbox of the first. A name that another directory's sandbox has
// is no obstacle: the daemon then chooses one.
func (a *app) createHere(ctx context.Context, c *client.Client) (*api.Sandbox, error) {
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	req, _, err := a.createRequest(dir, &specFlags{})
	if err != nil {
		return nil, err
	}
	named := req.Name == "" && req.Workspace != nil && req.Workspace.Source != ""
	if named {
		req.Name = nameAfter(req.Workspace.Source)
	}
	sb, err := c.Create(ctx, req, client.WithIdempotencyKey(rand.Text()))
	if err != nil && named && conflicts(err) {
		ref, missing := a.resolve(ctx, c, nil)
		if missing == nil {
			return c.Get(ctx, ref)
		}
		req.Name = ""
		sb, err = c.Create(ctx, req, client.WithIdempotencyKey(rand.Text()))
	}
	if err != nil {
		return nil, err
	}
	a.note("made sandbox %s", sb.Name)
	a.warnDegraded(sb)
	return sb, nil
}
