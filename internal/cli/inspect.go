package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

func newInspect(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect [SANDBOX]",
		Short: "show one sandbox in full",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE:  func(cmd *cobra.Command, args []string) error { return inspect(cmd.Context(), a, args) },

		ValidArgsFunction: a.completeOne,
	}
}

func inspect(ctx context.Context, a *app, args []string) error {
	c, ref, err := a.reach(ctx, args)
	if err != nil {
		return err
	}
	defer c.Close()
	sb, err := c.Get(ctx, ref)
	if err != nil {
		return err
	}
	switch {
	case a.flags.json:
		return a.printJSON(sb)
	case a.flags.quiet:
		return a.printLine(sb.ID)
	}
	return a.printTable(append(facts(sb), terminalFacts(ctx, c, sb)...))
}

// facts are the lines of inspect; what is empty is left out.
func facts(sb *api.Sandbox) [][]string {
	all := [][]string{
		{"name", sb.Name},
		{"id", sb.ID},
		{"status", sb.Status},
		{"review", sb.ReviewStatus},
		{"image", sb.Image},
		{"base", sb.Base},
		{"driver", because(sb.Driver, sb.DriverReason)},
		{"workspace", sb.Workspace.Source},
		{"mode", sb.Workspace.Mode},
		{"path", sb.Workspace.Path},
		{"network", sb.Network.Mode},
		{"limits", limitsLine(sb.Limits)},
		{"seccomp", sb.Security.Seccomp},
		{"user", sb.Agent.User},
		{"env", strings.Join(sb.Env, " ")},
		{"labels", pairs(sb.Labels)},
		{"owner", sb.Owner},
		{"created", timeLine(&sb.CreatedAt)},
		{"stopped", timeLine(sb.StoppedAt)},
		{"expires", timeLine(sb.ExpiresAt)},
	}
	if sb.PID != 0 {
		all = append(all, []string{"pid", strconv.Itoa(sb.PID)})
	}
	for _, d := range sb.Degraded {
		all = append(all, []string{"degraded", d.Fence + ": " + d.Reason})
	}
	if sb.Failure != nil {
		all = append(all, []string{"failure", sb.Failure.Step + ": " + sb.Failure.Message})
	}
	all = slices.DeleteFunc(all, func(row []string) bool { return row[1] == "" })
	for _, row := range all {
		row[0] += ":"
	}
	return all
}

// terminalFacts are one line for each terminal. A sandbox that does not run has
// none, and a daemon that cannot say has none to tell.
func terminalFacts(ctx context.Context, c *client.Client, sb *api.Sandbox) [][]string {
	if sb.Status != "running" && sb.Status != "frozen" {
		return nil
	}
	list, err := c.Terminals(ctx, sb.ID)
	if err != nil {
		return nil
	}
	rows := make([][]string, len(list.Items))
	for i, t := range list.Items {
		rows[i] = []string{"terminal:", terminalLine(t)}
	}
	return rows
}

func because(what, why string) string {
	if what == "" || why == "" {
		return what
	}
	return what + " (" + why + ")"
}

func limitsLine(l api.Limits) string {
	var parts []string
	add := func(set bool, format string, value any) {
		if set {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add(l.CPU > 0, "cpu %g", l.CPU)
	add(l.Memory > 0, "memory %s", l.Memory)
	add(l.PIDs > 0, "pids %d", l.PIDs)
	add(l.Disk > 0, "disk %s", l.Disk)
	add(l.ExecTimeout > 0, "exec %s", time.Duration(l.ExecTimeout))
	return strings.Join(parts, ", ")
}

func pairs(m map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, key+"="+m[key])
	}
	return strings.Join(all, " ")
}

func timeLine(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.Local().Format(time.RFC3339)
}
