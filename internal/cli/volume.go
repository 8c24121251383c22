package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

// shelf is what volumes and workspaces have in common on the command line.
type shelf struct {
	noun   string
	list   func(*client.Client, context.Context) (*api.List[api.Volume], error)
	create func(*client.Client, context.Context, api.VolumeRequest) (*api.Volume, error)
	remove func(*client.Client, context.Context, string) error
}

func newVolume(a *app) *cobra.Command {
	return newShelf(a, "named directories that outlive sandboxes", shelf{
		"volume", (*client.Client).Volumes, (*client.Client).CreateVolume, (*client.Client).DeleteVolume,
	})
}

func newWorkspace(a *app) *cobra.Command {
	return newShelf(a, "named workspaces (mode volume)", shelf{
		"workspace", (*client.Client).Workspaces, (*client.Client).CreateWorkspace, (*client.Client).DeleteWorkspace,
	})
}

func newShelf(a *app, short string, s shelf) *cobra.Command {
	cmd := &cobra.Command{
		Use:   s.noun,
		Short: short,
		Args:  unknownVerb,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newShelfLs(a, s), newShelfCreate(a, s), newShelfRm(a, s), newShelfPrune(a, s))
	return cmd
}

func newShelfLs(a *app, s shelf) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "list " + s.noun + "s",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				list, err := s.list(c, ctx)
				if err != nil {
					return err
				}
				return a.printVolumes(list)
			})
		},
	}
}

func (a *app) printVolumes(list *api.List[api.Volume]) error {
	if a.flags.json {
		return a.printJSON(list)
	}
	var rows [][]string
	if !a.flags.quiet {
		rows = append(rows, []string{"NAME", "SIZE", "SANDBOXES", "PATH"})
	}
	for _, v := range list.Items {
		if a.flags.quiet {
			rows = append(rows, []string{v.Name})
			continue
		}
		rows = append(rows, []string{v.Name, roughSize(v.Bytes), orDash(strings.Join(v.Sandboxes, ",")), v.Path})
	}
	return a.printTable(rows)
}

func newShelfCreate(a *app, s shelf) *cobra.Command {
	var seed string
	cmd := &cobra.Command{
		Use:   "create [--seed DIR] NAME",
		Short: "make a " + s.noun,
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := api.VolumeRequest{Name: args[0]}
			if seed != "" {
				path, err := mountPath(seed)
				if err != nil {
					return err
				}
				req.Seed = path
			}
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				v, err := s.create(c, ctx, req)
				if err != nil {
					return err
				}
				if a.flags.json {
					return a.printJSON(v)
				}
				return a.printLine(v.Name)
			})
		},
	}
	cmd.Flags().StringVar(&seed, "seed", "", "begin with a copy of this directory")
	return cmd
}

func newShelfRm(a *app, s shelf) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME…",
		Short: "remove " + s.noun + "s that no sandbox uses",
		Args:  usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				for _, name := range args {
					if err := s.remove(c, ctx, name); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func newShelfPrune(a *app, s shelf) *cobra.Command {
	kept := false
	cmd := newPrune(a, "remove all "+s.noun+"s that no sandbox uses, running or stopped", func() string {
		if kept {
			return "persist"
		}
		return s.noun + "s"
	})
	if s.noun == "volume" {
		cmd.Flags().BoolVar(&kept, "persist", false, "instead: what projects keep of which no sandbox is left")
	}
	return cmd
}

func newPrune(a *app, short string, kind func() string) *cobra.Command {
	var req api.PruneRequest
	cmd := &cobra.Command{
		Use:   "prune [--dry-run]",
		Short: short,
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				req.Kind = kind()
				gone, err := c.Prune(ctx, req)
				if err != nil {
					return err
				}
				return a.printPruned(gone)
			})
		},
	}
	cmd.Flags().BoolVarP(&req.DryRun, "dry-run", "n", false, "only say what would go")
	return cmd
}

func (a *app) printPruned(p *api.Pruned) error {
	if a.flags.json {
		return a.printJSON(p)
	}
	var rows [][]string
	for _, v := range p.Removed {
		rows = append(rows, []string{prunedVerb(p.DryRun), v.Name, roughSize(v.Bytes)})
	}
	if err := a.printTable(rows); err != nil {
		return err
	}
	a.detail("%s: %s", prunedVerb(p.DryRun), roughSize(p.FreedBytes))
	return nil
}

func prunedVerb(dry bool) string {
	if dry {
		return "would go"
	}
	return "removed"
}
