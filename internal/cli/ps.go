package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
)

// commandWidth bounds the command column of ps, unless -v is given.
const commandWidth = 100

func newPs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ps [SANDBOX]",
		Short: "list the processes of a sandbox",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE:  func(cmd *cobra.Command, args []string) error { return ps(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeOne,
	}
}

func ps(ctx context.Context, a *app, args []string) error {
	c, ref, err := a.reach(ctx, args)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Processes(ctx, ref)
	if err != nil {
		return err
	}
	switch {
	case a.flags.json:
		return a.printJSON(list)
	case a.flags.quiet:
		return a.printTable(pidRows(list.Items))
	}
	return a.printTable(processRows(list.Items, a.flags.verbose))
}

func pidRows(list []api.Process) [][]string {
	rows := make([][]string, len(list))
	for i, p := range list {
		rows[i] = []string{strconv.Itoa(p.PID)}
	}
	return rows
}

func processRows(list []api.Process, whole bool) [][]string {
	rows := [][]string{{"PID", "PPID", "UID", "STATE", "CPU", "RSS", "AGE", "COMMAND"}}
	for _, p := range list {
		command := p.Command
		if !whole {
			command = shorten(command, commandWidth)
		}
		rows = append(rows, []string{
			strconv.Itoa(p.PID), strconv.Itoa(p.PPID), strconv.Itoa(p.UID), p.State,
			(time.Duration(p.CPUMs) * time.Millisecond).String(), strconv.FormatInt(p.RSSBytes>>10, 10) + "K",
			age(time.Duration(p.StartedMs) * time.Millisecond), command,
		})
	}
	return rows
}
