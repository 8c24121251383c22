package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

func newCache(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "package caches that sandboxes share",
		Args:  unknownVerb,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCacheLs(a), newCachePromote(a), newCachePrune(a))
	return cmd
}

func newCacheLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "list shared caches",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				list, err := c.Caches(ctx)
				if err != nil {
					return err
				}
				if a.flags.json {
					return a.printJSON(list)
				}
				return a.printTable(cacheRows(list.Items, a.flags.quiet))
			})
		},
	}
}

func cacheRows(list []api.Cache, quiet bool) [][]string {
	var rows [][]string
	if !quiet {
		rows = append(rows, []string{"PATH", "GENERATION", "SIZE", "SANDBOXES"})
	}
	for _, k := range list {
		if quiet {
			rows = append(rows, []string{k.Path})
			continue
		}
		rows = append(rows, []string{k.Path, fmt.Sprint(k.Generation), roughSize(k.Bytes), orDash(strings.Join(k.Sandboxes, ","))})
	}
	return rows
}

func newCachePromote(a *app) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use:   "promote [--replace] [SANDBOX]",
		Short: "make what a sandbox downloaded part of the shared caches",
		Long: `Make what a sandbox downloaded part of the shared caches. You vouch for it: every
sandbox that is started from now on will use these files. What a cache has already
stays as it is, unless --replace is given. Sandboxes that run see no difference.`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				ref, err := a.resolve(ctx, c, args)
				if err != nil {
					return err
				}
				list, err := c.PromoteCaches(ctx, api.PromoteRequest{Sandbox: ref, Replace: replace})
				if err != nil {
					return err
				}
				return a.printPromoted(list)
			})
		},

		ValidArgsFunction: a.completeOne,
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "also files that the cache has with another content")
	return cmd
}

func (a *app) printPromoted(list *api.List[api.Promoted]) error {
	if a.flags.json {
		return a.printJSON(list)
	}
	var rows [][]string
	for _, p := range list.Items {
		rows = append(rows, []string{p.Path, fmt.Sprintf("%d added", p.Added), roughSize(p.Bytes), fmt.Sprintf("%d kept", p.Kept), fmt.Sprintf("generation %d", p.Generation)})
		for _, name := range p.Refused {
			a.note("warning: %s: %s does not belong into a cache", p.Path, escape(name))
		}
	}
	return a.printTable(rows)
}

func newCachePrune(a *app) *cobra.Command {
	return newPrune(a, "remove shared caches that no sandbox uses", func() string { return "caches" })
}
