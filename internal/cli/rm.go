package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

// removeAtOnce is how many sandboxes are removed at the same time.
const removeAtOnce = 16

type rmOptions struct{ force, all, purge bool }

func newRm(a *app) *cobra.Command {
	o := &rmOptions{}
	cmd := &cobra.Command{
		Use:     "rm [-f] [--purge] [--all | SANDBOX…]",
		Aliases: []string{"kill"},
		Short:   "remove sandboxes and everything in them",
		Long: `Remove sandboxes. What runs gets SIGTERM and the grace period first; -f does
not wait. Changes that were not approved are lost.`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeSandbox,
	}
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "kill at once")
	cmd.Flags().BoolVar(&o.all, "all", false, "every sandbox there is")
	cmd.Flags().BoolVar(&o.purge, "purge", false, "also what is kept for the project, unless another sandbox of it is left")
	return cmd
}

func (o *rmOptions) run(ctx context.Context, a *app, args []string) error {
	if o.all && (len(args) > 0 || a.flags.sandbox != "") {
		return &usageError{message: "--all and a sandbox contradict each other"}
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if o.all {
		return o.removeAll(ctx, a, c)
	}
	if len(args) <= 1 || a.flags.sandbox != "" {
		ref, err := a.resolve(ctx, c, args)
		if err != nil {
			return err
		}
		return o.remove(ctx, c, ref)
	}
	return report(a, len(args), o.removeEach(ctx, c, args))
}

func (o *rmOptions) removeAll(ctx context.Context, a *app, c *client.Client) error {
	list, err := c.ListAll(ctx, client.ListOptions{})
	if err != nil {
		return err
	}
	refs := make([]string, len(list))
	for i, sb := range list {
		refs[i] = sb.ID
	}
	errs := o.removeEach(ctx, c, refs)
	for i, err := range errs {
		if isGone(err) { // somebody else was faster
			errs[i] = nil
		} else if err != nil {
			errs[i] = &statusError{status: api.ExitError, err: fmt.Errorf("%s: %w", list[i].Name, err)}
		}
	}
	return report(a, len(refs), errs)
}

// removeEach removes several at once and gives each one's error.
func (o *rmOptions) removeEach(ctx context.Context, c *client.Client, refs []string) []error {
	errs := make([]error, len(refs))
	slots := make(chan struct{}, removeAtOnce)
	var all sync.WaitGroup
	for i, ref := range refs {
		slots <- struct{}{}
		all.Go(func() {
			errs[i] = o.remove(ctx, c, ref)
			<-slots
		})
	}
	all.Wait()
	return errs
}

func (o *rmOptions) remove(ctx context.Context, c *client.Client, ref string) error {
	sb, err := c.Get(ctx, ref)
	if err != nil {
		return err
	}
	if !o.force && (sb.Status == "running" || sb.Status == "frozen") {
		_, err := c.Stop(ctx, sb.ID, api.StopRequest{})
		if err != nil && !conflicts(err) {
			return err
		}
	}
	if o.purge {
		return c.Purge(ctx, sb.ID)
	}
	return c.Delete(ctx, sb.ID)
}

// conflicts: it stopped by itself in between, or somebody else stops it. What
// matters is whether it can be deleted.
func conflicts(err error) bool {
	var failure *api.Error
	return errors.As(err, &failure) && failure.Code == api.CodeConflict
}

// report prints every failure. The status is theirs when they agree, else 1.
func report(a *app, total int, errs []error) error {
	failed, status := 0, 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		failed++
		a.reportError(err)
		if s := exitStatus(err); status == 0 || status == s {
			status = s
		} else {
			status = api.ExitError
		}
	}
	if failed == 0 {
		return nil
	}
	return &statusError{status: status, err: fmt.Errorf("%d of %d sandboxes not removed", failed, total)}
}
