package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

func newConflicts(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "conflicts [SANDBOX]",
		Short: "show what has changed on both sides",
		Long: `Lists the files that have changed in the sandbox and, since it was made, in the
project. Those that merge are merged by approve; the others are refused unless
forced, and are shown with what both sides did.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return conflictsOf(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeOne,
	}
}

func conflictsOf(ctx context.Context, a *app, args []string) error {
	return a.onReviewed(ctx, args, func(c *client.Client, ref string) error {
		res, err := c.Conflicts(ctx, ref)
		if err != nil {
			return err
		}
		a.tell(res.Notes)
		if a.flags.json {
			return a.printJSON(res)
		}
		return a.page(ctx, func(p *painter) { a.paintConflicts(p, res.Conflicts) })
	})
}

func (a *app) paintConflicts(p *painter, list []api.Conflict) {
	for _, c := range list {
		if a.flags.quiet {
			p.line("", "%s", c.FilePath)
			continue
		}
		p.line(bold, "%s: %s (%s)", c.FilePath, c.Resolution, c.Reason)
		for _, side := range []struct{ whose, diff string }{{"project", c.ProjectDiff}, {"sandbox", c.SandboxDiff}} {
			if side.diff == "" {
				continue
			}
			p.line(cyan, "in the %s:", side.whose)
			for _, l := range strings.Split(strings.TrimSuffix(side.diff, "\n"), "\n") {
				p.hunkLine(l, "")
			}
		}
	}
	if len(list) == 0 {
		a.note("no conflicts")
	}
}
