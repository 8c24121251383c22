package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

func newImage(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "root filesystems for sandboxes, from registries and archives",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return &usageError{message: "image needs a verb", hint: "coop image pull, import, ls, inspect, rm or prune"}
		},
	}
	cmd.AddCommand(newImagePull(a), newImageImport(a), newImageLs(a), newImageInspect(a), newImageRm(a), newImagePrune(a))
	return cmd
}

func newImagePull(a *app) *cobra.Command {
	var req api.PullRequest
	cmd := &cobra.Command{
		Use:   "pull REFERENCE",
		Short: "fetch an image from a registry",
		Long: `Fetch an image from a registry: debian:12, ghcr.io/me/tool:1.0, debian@sha256:…
Credentials come from Docker's configuration and its helpers.`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Reference = args[0]
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				img, err := a.pull(ctx, c, req)
				if err != nil {
					return err
				}
				return a.printFetched(img)
			})
		},
	}
	cmd.Flags().BoolVar(&req.PlainHTTP, "plain-http", false, "the registry may be without TLS, whoever listens on the way")
	return cmd
}

func newImageImport(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "import SOURCE [REFERENCE]",
		Short: "take over an image from a file or directory",
		Long: `Take over an image: oci:DIR (an OCI layout), or a tar file that holds an OCI
archive, a Docker archive (docker save) or a root filesystem, plain, gzip or zstd.
With - the tar comes from stdin: docker save tool:1 | coop image import -`,
		Args: usage(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := api.ImportRequest{Source: args[0]}
			if len(args) > 1 {
				req.Reference = args[1]
			}
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				img, err := a.importImage(ctx, c, req)
				if err != nil {
					return err
				}
				return a.printFetched(img)
			})
		},
	}
}

// absoluteSource is a source for the daemon, who does not share our directory.
func absoluteSource(s string) string {
	kind, path := "", s
	for _, k := range []string{"oci:", "tar:"} {
		if rest, ok := strings.CutPrefix(s, k); ok {
			kind, path = k, rest
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return s // the daemon says what is wrong with it
	}
	return kind + abs
}

// withClient connects for one piece of work.
func (a *app) withClient(ctx context.Context, work func(context.Context, *client.Client) error) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return work(ctx, c)
}

func (a *app) pull(ctx context.Context, c *client.Client, req api.PullRequest) (*api.Image, error) {
	p := a.newProgress("pulling " + req.Reference)
	defer p.finish()
	return c.PullImage(ctx, req, p.event)
}

// importImage lets the daemon read a file that is on its machine, and sends it
// one that is not.
func (a *app) importImage(ctx context.Context, c *client.Client, req api.ImportRequest) (*api.Image, error) {
	p := a.newProgress("importing " + req.Source)
	defer p.finish()
	if req.Source == "-" {
		return c.UploadImage(ctx, a.streams.In, req.Reference, p.event)
	}
	if h := a.host(); h == "" || strings.HasPrefix(h, "unix:") {
		req.Source = absoluteSource(req.Source)
		return c.ImportImage(ctx, req, p.event)
	}
	if strings.HasPrefix(req.Source, "oci:") {
		return nil, &usageError{message: "a directory cannot be sent to another machine", hint: "pack it into a tar first"}
	}
	f, err := os.Open(strings.TrimPrefix(req.Source, "tar:"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return c.UploadImage(ctx, f, req.Reference, p.event)
}

func (a *app) printFetched(img *api.Image) error {
	if a.flags.json {
		return a.printJSON(img)
	}
	for _, n := range img.Notes {
		a.note("%s", n)
	}
	return a.printLine(img.Digest)
}

func newImageLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "list images",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				list, err := c.Images(ctx)
				if err != nil {
					return err
				}
				return a.printImages(list)
			})
		},
	}
}

func (a *app) printImages(list *api.List[api.Image]) error {
	if a.flags.json {
		return a.printJSON(list)
	}
	var rows [][]string
	if !a.flags.quiet {
		rows = append(rows, []string{"REFERENCE", "DIGEST", "SIZE", "DISK", "LAYERS", "SANDBOXES", "FETCHED"})
	}
	for _, img := range list.Items {
		refs := img.References
		if len(refs) == 0 {
			refs = []string{"-"}
		}
		for _, ref := range refs {
			if a.flags.quiet {
				rows = append(rows, []string{img.Digest})
				break
			}
			rows = append(rows, []string{
				ref, shortDigest(img.Digest), bytesShown(img.SizeBytes), bytesShown(img.DiskBytes),
				fmt.Sprint(len(img.Layers)), fmt.Sprint(len(img.Sandboxes)), since(img.FetchedAt),
			})
		}
	}
	return a.printTable(rows)
}

func shortDigest(d string) string {
	d = strings.TrimPrefix(d, "sha256:")
	return d[:min(12, len(d))]
}

// bytesShown is a size as people read it.
func bytesShown(n int64) string {
	const units = "KMGT"
	if n < 1024 {
		return fmt.Sprintf("%dB", n)
	}
	f, unit := float64(n)/1024, 0
	for f >= 999.5 && unit < len(units)-1 {
		f, unit = f/1024, unit+1
	}
	return fmt.Sprintf("%.3g%ciB", f, units[unit])
}

func newImageInspect(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect REFERENCE",
		Short: "everything about one image, as JSON",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				img, err := c.Image(ctx, args[0])
				if err != nil {
					return err
				}
				return a.printJSON(img)
			})
		},
	}
}

func newImageRm(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm REFERENCE…",
		Short: "remove images that no sandbox uses",
		Args:  usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				for _, ref := range args {
					out, err := c.DeleteImage(ctx, ref)
					if err != nil {
						return err
					}
					if err := a.printRemoved(out); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func newImagePrune(a *app) *cobra.Command {
	var req api.ImagePruneRequest
	cmd := &cobra.Command{
		Use:   "prune [-a]",
		Short: "remove images without a name and what interrupted pulls left",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				out, err := c.PruneImages(ctx, req)
				if err != nil {
					return err
				}
				return a.printRemoved(out)
			})
		},
	}
	cmd.Flags().BoolVarP(&req.All, "all", "a", false, "every image that no sandbox uses")
	return cmd
}

func (a *app) printRemoved(out *api.ImagesRemoved) error {
	if a.flags.json {
		return a.printJSON(out)
	}
	for _, list := range [][]string{out.References, out.Images} {
		for _, name := range list {
			if err := a.printLine(name); err != nil {
				return err
			}
		}
	}
	a.note("%s freed", bytesShown(out.Bytes))
	return nil
}
