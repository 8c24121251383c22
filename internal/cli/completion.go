package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/client"
)

// completeSandbox completes names. It never starts a daemon: pressing the tab
// key must not change anything.
func (a *app) completeSandbox(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), answerTimeout)
	defer cancel()
	c, err := a.peek(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	all, err := c.ListAll(ctx, client.ListOptions{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, sb := range all {
		if strings.HasPrefix(sb.Name, typed) {
			names = append(names, escape(sb.Name))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeOne completes a single sandbox, completeMany any number.
func (a *app) completeOne(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeSandbox(cmd, args, typed)
}

// terminalNumbers are those of one sandbox that begin as typed.
func (a *app) terminalNumbers(ctx context.Context, args []string, typed string) []string {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c, err := a.peek(ctx)
	if err != nil {
		return nil
	}
	defer c.Close()
	ref, err := a.resolve(ctx, c, args)
	if err != nil {
		return nil
	}
	list, err := c.Terminals(ctx, ref)
	if err != nil {
		return nil
	}
	var numbers []string
	for _, t := range list.Items {
		if n := strconv.Itoa(t.Number); strings.HasPrefix(n, typed) {
			numbers = append(numbers, n+"\t"+escape(t.Role+" "+shorten(t.Command, commandWidth)))
		}
	}
	return numbers
}
