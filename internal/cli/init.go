package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/config"
)

type initOptions struct{ force bool }

func newInit(a *app) *cobra.Command {
	o := &initOptions{}
	cmd := &cobra.Command{
		Use:   "init [--force]",
		Short: "write a coop.toml that fits this directory, build its base",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "take the place of the one that is there")
	return cmd
}

// initAnswer is init --json.
type initAnswer struct {
	File string `json:"file"`
	config.Found
}

func (o *initOptions) run(ctx context.Context, a *app) error {
	dir, err := workingDir()
	if err != nil {
		return err
	}
	if done, err := o.buildExisting(ctx, a, dir); done {
		return err
	}
	home, err := personHome()
	if err != nil {
		home = "" // nothing is below it
	}
	found := config.Detect(dir, filepath.SplitList(os.Getenv("PATH")))
	file := filepath.Join(dir, config.Name)
	if err := writeNew(file, config.Starter(found, home), o.force); err != nil {
		return err
	}
	if other := config.Above(dir, home); other != "" {
		a.note("%s does not count here any more: the nearest file does", other)
	}
	if err := a.printFound(initAnswer{file, found}); err != nil {
		return err
	}
	return a.buildDefaults(ctx, dir)
}

// buildDefaults builds the base of a new coop.toml: what is written has no steps
// of its own, but the person's default.toml may.
func (a *app) buildDefaults(ctx context.Context, dir string) error {
	conf, err := a.loadConfig(dir)
	if err != nil || conf.Build() == nil {
		return err
	}
	return a.withClient(ctx, a.buildHere)
}

// buildExisting builds the base of a coop.toml that is there and has steps. One
// that has none is left to writeNew, which says what can be done.
func (o *initOptions) buildExisting(ctx context.Context, a *app, dir string) (done bool, err error) {
	if _, err := os.Lstat(filepath.Join(dir, config.Name)); err != nil || o.force {
		return false, nil
	}
	conf, err := a.loadConfig(dir)
	if err != nil || conf.Build() == nil {
		return false, nil //nolint:nilerr // what is wrong with the file says whoever uses it
	}
	a.note("%s is there already", config.Name)
	return true, (&rebuildOptions{}).run(ctx, a)
}

func (a *app) printFound(f initAnswer) error {
	switch {
	case a.flags.json:
		return a.printJSON(f)
	case a.flags.quiet:
		return a.printLine(f.File)
	}
	var rows [][]string
	switch {
	case f.Agent == nil:
		rows = append(rows, []string{"agent:", "none found; a login shell"})
	case f.Agent.Visible:
		rows = append(rows, []string{"agent:", f.Agent.Name + ", " + f.Agent.Path})
	default:
		rows = append(rows, []string{"agent:", f.Agent.Name + ", " + f.Agent.Path + ", which a sandbox does not see; a login shell"})
	}
	for _, l := range f.Languages {
		rows = append(rows, []string{"language:", l.Name + ", by " + l.File})
	}
	if f.Git != "" {
		rows = append(rows, []string{"git:", f.Git})
	}
	return a.printTable(append(rows, []string{"wrote:", shortPath(f.Dir, f.File)}))
}

// writeNew writes a file at once or not at all. Without force it never takes
// the place of another, not even of one that appears while it writes: link(2)
// refuses where rename(2) would replace.
func writeNew(file string, data []byte, force bool) (err error) {
	defer func() { err = explainWrite(file, err) }()
	if _, err := os.Lstat(file); err == nil && !force {
		return fs.ErrExist
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".coop.toml-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // renamed away, or not wanted
	if err := fill(tmp, data); err != nil {
		return err
	}
	if force {
		return os.Rename(tmp.Name(), file)
	}
	err = os.Link(tmp.Name(), file)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		return writeExclusive(file, data) // FAT and its like have no links
	}
	return err
}

// writeExclusive is not atomic, but takes nobody's place either.
func writeExclusive(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := fill(f, data); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}

// fill makes a temporary file one that others of the project may read.
func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	return errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
}

func explainWrite(file string, err error) error {
	var link *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("%s is there already", config.Name), Hint: "coop init --force takes its place"}
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("write %s: %w", filepath.Base(file), pathCause(err))
}
