package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

func newDf(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "df",
		Short: "what takes space, and what reclaims it",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				report, err := c.DiskUsage(ctx)
				if err != nil {
					return err
				}
				if a.flags.json {
					return a.printJSON(report)
				}
				return a.printTable(diskRows(report))
			})
		},
	}
}

func diskRows(r *api.DiskReport) [][]string {
	rows := [][]string{{"KIND", "COUNT", "ACTIVE", "SIZE", "RECLAIMABLE", "BY"}}
	var free int64
	for _, u := range r.Items {
		count, active, by := "-", "-", "-"
		if u.Count > 0 {
			count, active = fmt.Sprint(u.Count), fmt.Sprint(u.Active)
		}
		if u.ReclaimableBytes > 0 {
			by = u.Command
		}
		free += u.ReclaimableBytes
		rows = append(rows, []string{u.Kind, count, active, roughSize(u.Bytes), roughSize(u.ReclaimableBytes), by})
	}
	return append(rows, []string{"total", "-", "-", roughSize(r.TotalBytes), roughSize(free), "-"})
}
