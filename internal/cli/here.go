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
	if o.rebuild {
		if err := a.buildHere(ctx, c); err != nil {
			return err
		}
	}
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
	if err != nil {
		return nil, err
	}
	a.ofBase(ctx, c, sb)
	return a.running(ctx, c, sb)
}

// running starts a sandbox that is stopped.
func (a *app) running(ctx context.Context, c *client.Client, sb *api.Sandbox) (*api.Sandbox, error) {
	if sb.Status != "stopped" {
		return sb, nil
	}
	a.note("starting %s", sb.Name)
	sb, err := c.Start(ctx, sb.ID)
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

// createHere makes the sandbox under the name of the project's directory. That
// name is what decides between two commands that do so at the same time: the
// second one finds the sandbox of the first.
func (a *app) createHere(ctx context.Context, c *client.Client) (*api.Sandbox, error) {
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	req, project, err := a.createRequest(dir, &specFlags{})
	if err != nil {
		return nil, err
	}
	req.Name = nameAfter(project.Dir)
	req.Metadata = map[string]any{metaProject: project.Dir}
	sb, err := c.Create(ctx, req, client.WithIdempotencyKey(rand.Text()))
	if conflicts(err) {
		return a.takenName(ctx, c, req)
	}
	return a.made(sb, err)
}

// metaProject is where a sandbox says which project it was made for: one whose
// files come from no directory would be known by nothing but its name.
const metaProject = "project"

// takenName finds who has the name: a sandbox of this project, or one of another
// directory that is called the same, and then the daemon chooses a name.
func (a *app) takenName(ctx context.Context, c *client.Client, req api.CreateRequest) (*api.Sandbox, error) {
	name := req.Name
	if here, err := a.resolve(ctx, c, nil); err == nil {
		name = here // somebody was faster
	}
	sb, err := c.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	if name != req.Name || sb.Metadata[metaProject] == req.Metadata[metaProject] {
		return a.running(ctx, c, sb)
	}
	req.Name = ""
	return a.made(c.Create(ctx, req, client.WithIdempotencyKey(rand.Text())))
}

func (a *app) made(sb *api.Sandbox, err error) (*api.Sandbox, error) {
	if err != nil {
		return nil, err
	}
	a.note("made sandbox %s", sb.Name)
	a.warnDegraded(sb)
	return sb, nil
}
