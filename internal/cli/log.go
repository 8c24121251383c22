package cli

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
)

type logOptions struct{ limit int }

func newLog(a *app) *cobra.Command {
	o := &logOptions{}
	cmd := &cobra.Command{
		Use:   "log PATH",
		Short: "tell which sandboxes a file of the project came from",
		Long: `Tells what was approved into a file, newest first: when, from which sandbox, by
whom, and what ran there.`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) },
	}
	cmd.Flags().IntVarP(&o.limit, "number", "n", 0, "how many lines at most")
	return cmd
}

func (o *logOptions) run(ctx context.Context, a *app, path string) error {
	file, err := hostPath(path)
	if err != nil {
		return err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.AuditOf(ctx, file, o.limit)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(list)
	}
	if len(list.Items) == 0 {
		a.note("nothing was ever approved into %s", path)
		return nil
	}
	return a.printTable(logRows(list.Items))
}

// hostPath is a file as workspaces are recorded: its directory without links.
func hostPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return abs, nil //nolint:nilerr // the file may be gone with its directory; its story is not
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

func logRows(list []api.AuditEntry) [][]string {
	rows := [][]string{{"WHEN", "EVENT", "SANDBOX", "ID", "BY", "DETAIL"}}
	for _, e := range list {
		rows = append(rows, []string{
			e.At.Local().Format(time.DateTime), e.Event, orDash(e.Name), e.Sandbox, orDash(e.Actor), shorten(orDash(e.Detail), 120),
		})
	}
	return rows
}
