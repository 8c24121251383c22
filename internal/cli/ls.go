package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

type lsOptions struct{ all bool }

func newLs(a *app) *cobra.Command {
	o := &lsOptions{}
	cmd := &cobra.Command{
		Use:   "ls [-a]",
		Short: "list sandboxes",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "stopped ones too")
	return cmd
}

func (o *lsOptions) run(ctx context.Context, a *app) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := c.ListAll(ctx, client.ListOptions{})
	if err != nil {
		return err
	}
	shown, hidden := o.pick(all)
	if err := a.printSandboxes(shown); err != nil {
		return err
	}
	if a.flags.verbose {
		a.detailTerminals(ctx, c, shown)
	}
	if hidden > 0 {
		a.note("%d stopped not shown: coop ls -a", hidden)
	}
	return nil
}

// pick leaves out what is stopped. What has failed is always shown.
func (o *lsOptions) pick(all []api.Sandbox) (shown []api.Sandbox, hidden int) {
	shown = []api.Sandbox{} // an empty list is [] in JSON
	for _, sb := range all {
		if sb.Status == "stopped" && !o.all {
			hidden++
			continue
		}
		shown = append(shown, sb)
	}
	return shown, hidden
}

func (a *app) printSandboxes(list []api.Sandbox) error {
	if a.flags.json {
		return a.printJSON(api.List[api.Sandbox]{Items: list, Total: len(list)})
	}
	if a.flags.quiet {
		rows := make([][]string, len(list))
		for i, sb := range list {
			rows[i] = []string{sb.ID}
		}
		return a.printTable(rows)
	}
	rows := [][]string{{"NAME", "ID", "STATUS", "WORKSPACE", "MODE", "AGE"}}
	for _, sb := range list {
		rows = append(rows, []string{sb.Name, sb.ID, statusMark(sb), orDash(sb.Workspace.Source), orDash(sb.Workspace.Mode), since(sb.CreatedAt)})
	}
	if err := a.printTable(rows); err != nil {
		return err
	}
	for _, sb := range list {
		for _, d := range sb.Degraded {
			a.detail("%s: degraded: %s: %s", sb.Name, d.Fence, d.Reason)
		}
	}
	return nil
}

// detailTerminals tells of every terminal; it asks once for each sandbox.
func (a *app) detailTerminals(ctx context.Context, c *client.Client, list []api.Sandbox) {
	for _, sb := range list {
		for _, row := range terminalFacts(ctx, c, &sb) {
			a.detail("%s: terminal %s", sb.Name, row[1])
		}
	}
}

// statusMark is the status, with ! when a fence is missing.
func statusMark(sb api.Sandbox) string {
	if len(sb.Degraded) > 0 {
		return sb.Status + " !"
	}
	return sb.Status
}
