package cli

import (
	"context"
	"encoding/base64"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

type diffOptions struct{ stat, nameOnly bool }

func newDiff(a *app) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [PATH…]",
		Short: "show what the workspace changed",
		Long: `Shows what a sandbox changed in its workspace. On a terminal it is coloured and
shown in a pager; anywhere else it is a patch that git apply and patch take:

  coop diff | git apply -R --check
  coop diff src > agent.patch

Paths are relative to the current directory, or as the sandbox sees them.`,
		RunE: func(cmd *cobra.Command, args []string) error { return diff(cmd.Context(), a, o, args) },
	}
	cmd.Flags().BoolVar(&o.stat, "stat", false, "one line a file, with the number of lines")
	cmd.Flags().BoolVar(&o.nameOnly, "name-only", false, "only the names")
	return cmd
}

func diff(ctx context.Context, a *app, o diffOptions, args []string) error {
	if o.stat && o.nameOnly {
		return &usageError{message: "--stat and --name-only exclude each other", hint: "coop diff --help"}
	}
	c, ref, err := a.reach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	paths, err := a.workspacePaths(ctx, c, ref, args)
	if err != nil {
		return err
	}
	query := client.DiffOptions{Paths: paths}
	switch {
	case a.flags.json:
	case o.stat:
		query.Detail = "stat"
	case o.nameOnly || a.flags.quiet:
		query.Detail = "names"
	case !a.onTerminal():
		return a.patch(ctx, c, ref, paths)
	}
	d, err := c.Diff(ctx, ref, query)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(d)
	}
	exactNames(d)
	switch {
	case o.stat:
		return a.page(ctx, func(p *painter) { p.stat(d) })
	case query.Detail == "names":
		return a.page(ctx, func(p *painter) { p.names(d) })
	}
	return a.page(ctx, func(p *painter) { p.diff(d) })
}

// exactNames puts names that are not UTF-8 in their place; whatever prints them
// escapes the bytes.
func exactNames(d *api.Diff) {
	for i := range d.Files {
		f := &d.Files[i]
		f.FilePath = exactName(f.FilePath, f.FilePathBase64)
		f.OldPath = exactName(f.OldPath, f.OldPathBase64)
	}
}

func exactName(shown, exact string) string {
	raw, err := base64.StdEncoding.DecodeString(exact)
	if exact == "" || err != nil {
		return shown
	}
	return string(raw)
}

// workspacePaths makes what a person names relative to the workspace. Someone
// who stands in the project means its files.
func (a *app) workspacePaths(ctx context.Context, c *client.Client, ref string, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	sb, err := c.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	cwd, err := workingDir()
	if err != nil {
		return nil, err
	}
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = inWorkspace(sb.Workspace.Source, cwd, arg)
	}
	return out, nil
}

func inWorkspace(source, cwd, arg string) string {
	p := arg
	if !filepath.IsAbs(p) {
		p = filepath.Join(cwd, p)
	}
	rel, err := filepath.Rel(source, p)
	if source == "" || err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return arg // not a path of the project here: as the sandbox sees it
	}
	return rel
}

// patch writes the exact bytes to stdout. What a patch cannot say goes to stderr.
func (a *app) patch(ctx context.Context, c *client.Client, ref string, paths []string) error {
	d, err := c.Diff(ctx, ref, client.DiffOptions{Paths: paths, Detail: "names"})
	if err != nil {
		return err
	}
	exactNames(d)
	for _, f := range d.Files {
		for _, why := range f.Flagged {
			a.note("flagged: %s: %s", f.FilePath, why)
		}
		if f.Status != "pending" {
			a.note("%s: %s: %s", f.Status, f.FilePath, f.Reason)
		}
	}
	body, err := c.Patch(ctx, ref, paths)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(a.streams.Out, body)
	return err
}
