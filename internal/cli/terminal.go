package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
)

// newTerminal is "coop terminal": verbs about one terminal, whose number they
// take; -s chooses the sandbox.
func newTerminal(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "terminal",
		Short: "the terminals of a sandbox",
		Args:  unknownVerb,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTerminalLs(a), newTerminalAttach(a), newTerminalLogs(a), newTerminalKill(a), newTerminalRestart(a))
	return cmd
}

func newTerminalLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls [SANDBOX]",
		Short: "list terminals",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE:  func(cmd *cobra.Command, args []string) error { return terminalLs(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeOne,
	}
}

func terminalLs(ctx context.Context, a *app, args []string) error {
	c, ref, err := a.reach(ctx, args)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Terminals(ctx, ref)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(list)
	}
	return a.printTable(terminalRows(list.Items, a.flags.quiet, a.flags.verbose))
}

func terminalRows(list []api.Terminal, numbersOnly, whole bool) [][]string {
	var rows [][]string
	if !numbersOnly {
		rows = append(rows, []string{"NUMBER", "ROLE", "PID", "SIZE", "CLIENTS", "STATUS", "COMMAND", "TITLE"})
	}
	for _, t := range list {
		row := []string{strconv.Itoa(t.Number)}
		if !numbersOnly {
			command, title := t.Command, t.Title
			if !whole {
				command, title = shorten(command, commandWidth), shorten(title, commandWidth)
			}
			row = append(row, t.Role, pidCell(t.PID), fmt.Sprintf("%dx%d", t.Cols, t.Rows), strconv.Itoa(t.Clients), terminalStatus(t), orDash(command), orDash(title))
		}
		rows = append(rows, row)
	}
	return rows
}

func pidCell(pid int) string {
	if pid == 0 {
		return "-"
	}
	return strconv.Itoa(pid)
}

// terminalStatus is how the program on it is.
func terminalStatus(t api.Terminal) string {
	switch {
	case t.Running && t.Restarts > 0:
		return fmt.Sprintf("running, %d restarts", t.Restarts)
	case t.Running:
		return "running"
	case t.Failed != "":
		return "failed: " + t.Failed
	case t.Signal != "":
		return "ended by " + t.Signal
	case t.ExitCode != nil:
		return fmt.Sprintf("ended with %d", *t.ExitCode)
	}
	return "ended"
}

// terminalLine is one terminal in the lines of inspect.
func terminalLine(t api.Terminal) string {
	line := fmt.Sprintf("%d %s, %s", t.Number, t.Role, terminalStatus(t))
	switch t.Clients {
	case 0:
	case 1:
		line += ", 1 client"
	default:
		line += fmt.Sprintf(", %d clients", t.Clients)
	}
	if t.Command != "" {
		line += ": " + shorten(t.Command, commandWidth)
	}
	return line
}

func newTerminalKill(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "kill N",
		Short: "end what runs on a terminal",
		Long:  "End what runs on a terminal, and everything it started. Terminal 0 is started again if coop.toml says so.",
		Args:  usage(cobra.ExactArgs(1)),
		RunE:  func(cmd *cobra.Command, args []string) error { return terminalKill(cmd.Context(), a, args[0]) },

		ValidArgsFunction: a.completeTerminal,
	}
}

func terminalKill(ctx context.Context, a *app, word string) error {
	n, err := terminalNumber(word)
	if err != nil {
		return err
	}
	c, ref, err := a.reach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.KillTerminal(ctx, ref, n)
}

func newTerminalRestart(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restart N",
		Short: "end what runs on a terminal and start it again",
		Args:  usage(cobra.ExactArgs(1)),
		RunE:  func(cmd *cobra.Command, args []string) error { return terminalRestart(cmd.Context(), a, args[0]) },

		ValidArgsFunction: a.completeTerminal,
	}
}

func terminalRestart(ctx context.Context, a *app, word string) error {
	n, err := terminalNumber(word)
	if err != nil {
		return err
	}
	c, ref, err := a.reach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	sb, err := c.Get(ctx, ref)
	if err != nil {
		return err
	}
	var req api.RestartRequest
	if n == 0 {
		if req, err = a.restartRequestOf(sb); err != nil {
			return err
		}
	}
	t, err := c.RestartTerminal(ctx, sb.ID, n, req)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(t)
	}
	a.detail("restarted terminal %d", n)
	return nil
}

// completeTerminal completes numbers of the sandbox that -s, or the directory,
// says.
func (a *app) completeTerminal(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.terminalNumbers(cmd.Context(), nil, typed), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeTerminalFlag(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.terminalNumbers(cmd.Context(), args, typed), cobra.ShellCompDirectiveNoFileComp
}
