package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
)

type gcOptions struct {
	olderThan, idle time.Duration
	maxTotal        string
	statuses        []string
	dryRun          bool
}

func newGC(a *app) *cobra.Command {
	o := &gcOptions{}
	cmd := &cobra.Command{
		Use:   "gc [--older-than D] [--idle D] [--max-total SIZE] [--status S]… [--dry-run] [SANDBOX…]",
		Short: "remove sandboxes nobody needs",
		Long: `Remove sandboxes nobody needs and say why each. Without options these are the
stopped ones. One with changes that nobody has reviewed stays, unless it is named.`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeSandbox,
	}
	f := cmd.Flags()
	f.DurationVar(&o.olderThan, "older-than", 0, "made longer ago than this")
	f.DurationVar(&o.idle, "idle", 0, "nothing happened for longer than this")
	f.StringVar(&o.maxTotal, "max-total", "", "the longest idle, until all together take no more than this (10GiB)")
	f.StringArrayVar(&o.statuses, "status", nil, "only these states (default stopped and error)")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "only say what would go")
	return cmd
}

func (o *gcOptions) run(ctx context.Context, a *app, args []string) error {
	req := api.GCRequest{
		OlderThan: api.Duration(o.olderThan), Idle: api.Duration(o.idle),
		Statuses: o.statuses, Sandboxes: args, DryRun: o.dryRun,
	}
	if o.olderThan < 0 || o.idle < 0 {
		return &usageError{message: "an age cannot be negative"}
	}
	if a.flags.sandbox != "" {
		req.Sandboxes = append(req.Sandboxes, a.flags.sandbox)
	}
	if o.maxTotal != "" {
		size, err := api.ParseSize(o.maxTotal)
		if err != nil {
			return &usageError{message: "--max-total: " + err.Error()}
		}
		req.MaxTotalBytes = size
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	res, err := c.GC(ctx, req)
	if err != nil {
		return err
	}
	return o.show(a, res)
}

func (o *gcOptions) show(a *app, res *api.GCResult) error {
	if a.flags.json {
		return a.printJSON(res)
	}
	verb := "removed"
	if res.DryRun {
		verb = "would go"
	}
	var rows [][]string
	for _, g := range res.Collected {
		rows = append(rows, []string{verb, g.Name, roughSize(g.Bytes), g.Reason})
	}
	for _, g := range res.Kept {
		rows = append(rows, []string{"kept", g.Name, roughSize(g.Bytes), g.Reason})
	}
	if err := a.printTable(rows); err != nil {
		return err
	}
	a.detail("%s: %s, %s of %s", verb, sandboxes(len(res.Collected)),
		roughSize(res.FreedBytes), roughSize(res.TotalBytes))
	return nil
}

func sandboxes(n int) string {
	if n == 1 {
		return "1 sandbox"
	}
	return fmt.Sprintf("%d sandboxes", n)
}

// roughSize is for people: 1.2 MiB.
func roughSize(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, names := float64(n)/unit, "KMGTP"
	for value >= unit && len(names) > 1 {
		value, names = value/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %ciB", value, names[0])
}
