package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/config"
)

type rebuildOptions struct {
	noCache bool
	image   string
}

func newRebuild(a *app) *cobra.Command {
	o := &rebuildOptions{}
	cmd := &cobra.Command{
		Use:     "rebuild [--no-cache]",
		Aliases: []string{"build"},
		Short:   "build the base of this directory's coop.toml",
		Long: `Build the base: the image of coop.toml with its packages, setup commands and
agent. Steps that are unchanged since the last time are not run again. When a
step fails, the base that was there stays as it was, and the sandbox in which the
step ran is kept to be looked at.`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	cmd.Flags().BoolVar(&o.noCache, "no-cache", false, "run every step again")
	cmd.Flags().StringVar(&o.image, "image", "", "build from this image instead")
	return cmd
}

func (o *rebuildOptions) run(ctx context.Context, a *app) error {
	dir, err := workingDir()
	if err != nil {
		return err
	}
	conf, err := a.loadConfig(dir)
	if err != nil {
		return err
	}
	image := conf.Request().Image
	if o.image != "" {
		image = imageName(o.image)
	}
	if err := conf.Supported(image); err != nil {
		return err
	}
	if conf.Build() == nil {
		a.note("there is nothing to build: coop.toml has no packages, setup.run or agent.install")
		return nil
	}
	return a.withClient(ctx, func(ctx context.Context, c *client.Client) error {
		img, err := a.build(ctx, c, conf, image, o.noCache)
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.printJSON(img)
		}
		return a.printLine(img.Digest)
	})
}

// buildHere is coop -b.
func (a *app) buildHere(ctx context.Context, c *client.Client) error {
	dir, err := workingDir()
	if err != nil {
		return err
	}
	conf, err := a.loadConfig(dir)
	if err != nil || conf.Build() == nil {
		return err
	}
	image := conf.Request().Image
	if err := conf.Supported(image); err != nil {
		return err
	}
	_, err = a.build(ctx, c, conf, image, false)
	return err
}

// build makes the base of a configuration and shows how it comes. An image that
// is not here is fetched first.
func (a *app) build(ctx context.Context, c *client.Client, conf *config.Config, image string, noCache bool) (*api.Image, error) {
	req := api.BuildRequest{Image: image, Build: *conf.Build(), Name: baseName(conf.Dir), NoCache: noCache, Env: proxies()}
	p := &buildProgress{a: a}
	img, err := c.BuildBase(ctx, req, p.event)
	if imageMissing(err) {
		if err := a.fetchImage(ctx, c, image); err != nil {
			return nil, err
		}
		img, err = c.BuildBase(ctx, req, p.event)
	}
	p.finish(err)
	return img, err
}

// baseName is what a project's base is called: after its directory, and with
// some digits of the whole path, because many directories have the same name.
func baseName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return nameAfter(dir) + "-" + hex.EncodeToString(sum[:4])
}

// proxies are what package managers need to know of the way out. Nothing else of
// our environment goes into a base.
func proxies() map[string]string {
	env := map[string]string{}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		if v := os.Getenv(name); v != "" {
			env[name] = v
		}
	}
	return env
}

// buildProgress shows a build: a line for each step, and what the steps say.
// With -q or --json only what led to a failure is shown.
type buildProgress struct {
	a     *app
	plain plainText
	shown bool // the output of the present step
}

func (p *buildProgress) event(e api.BuildEvent) {
	quiet := p.a.flags.quiet || p.a.flags.json
	switch {
	case quiet:
	case e.Status == "output":
		p.shown = true
		_, _ = p.a.streams.Err.Write(p.plain.clean([]byte(e.Output))) // nowhere to tell
	case e.Status == "running":
		p.shown = false
		p.a.message("step %d/%d: %s", e.Step, e.Steps, shorten(e.Text, 200))
	case e.Status == "cached":
		p.a.message("step %d/%d: %s: unchanged", e.Step, e.Steps, shorten(e.Text, 200))
	}
}

// finish ends the last line, and tells the end of a failed step's output to who
// has not seen it.
func (p *buildProgress) finish(err error) {
	var failure *api.Error
	if end := p.plain.end(); len(end) > 0 {
		_, _ = p.a.streams.Err.Write(end)
	}
	if !errors.As(err, &failure) || p.shown {
		return
	}
	lines, _ := failure.Details["lastLines"].([]any)
	for _, l := range lines {
		if text, ok := l.(string); ok {
			_, _ = p.a.streams.Err.Write([]byte("  " + escape(text) + "\n"))
		}
	}
}

// ofBase warns who uses a sandbox whose project says something else by now. It
// never stands in the way: the sandbox is there and works.
func (a *app) ofBase(ctx context.Context, c *client.Client, sb *api.Sandbox) {
	conf, err := a.projectConfig(sb)
	if err != nil || a.flags.quiet {
		return
	}
	build := conf.Build()
	if build == nil {
		if sb.Base != "" {
			a.note("%s was made from a base, which coop.toml no longer asks for", sb.Name)
		}
		return
	}
	st, err := c.Base(ctx, api.BaseRequest{Image: conf.Request().Image, Build: *build})
	switch {
	case err != nil:
		a.detail("the base of coop.toml is not known: %s", err)
	case st.Digest == "":
		a.note("coop.toml has changed and its base is not built; %s goes on with what it was made from", sb.Name)
		a.hint("coop rebuild")
	case st.Digest != sb.Base:
		a.note("%s was made from another base than coop.toml's present one", sb.Name)
		a.hint("coop rm %s makes room for a new sandbox", sb.Name)
	}
}
