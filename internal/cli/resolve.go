package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

// reach connects and finds the sandbox a verb is about. Who gets a client closes
// it.
func (a *app) reach(ctx context.Context, words []string) (*client.Client, string, error) {
	c, err := a.connect(ctx)
	if err != nil {
		return nil, "", err
	}
	ref, err := a.resolve(ctx, c, words)
	if err != nil {
		c.Close()
		return nil, "", err
	}
	return c, ref, nil
}

// resolve finds which sandbox a verb is about: the word given, else -s, else
// the sandbox of the current directory or of the nearest one above that has
// any. Names, ids and prefixes are the daemon's business.
func (a *app) resolve(ctx context.Context, c *client.Client, args []string) (string, error) {
	if len(args) > 0 && a.flags.sandbox != "" {
		return "", &usageError{message: fmt.Sprintf("sandbox given twice: %q and -s %q", args[0], a.flags.sandbox)}
	}
	if len(args) > 0 {
		return args[0], nil
	}
	if a.flags.sandbox != "" {
		return a.flags.sandbox, nil
	}
	cwd, err := workingDir()
	if err != nil {
		return "", err
	}
	return nearest(ctx, c, cwd)
}

// workingDir is the current directory as the kernel names it: workspaces are
// recorded without symbolic links.
func workingDir() (string, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("current directory: %w", err)
	}
	return filepath.EvalSymlinks(cwd)
}

func nearest(ctx context.Context, c *client.Client, cwd string) (string, error) {
	for dir := cwd; ; dir = filepath.Dir(dir) {
		found, err := c.ListAll(ctx, client.ListOptions{Path: dir})
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return choose(dir, found)
		}
		if dir == filepath.Dir(dir) {
			return "", &api.Error{
				Code:    api.CodeNotFound,
				Message: fmt.Sprintf("no sandbox belongs to %s or a directory above it", cwd),
				Hint:    "coop create makes one here; coop ls -a lists all",
			}
		}
	}
}

// choose takes the only sandbox of a directory, or the one named after it.
func choose(dir string, found []api.Sandbox) (string, error) {
	if len(found) == 1 {
		return found[0].ID, nil
	}
	names := make([]string, len(found))
	for i, sb := range found {
		if sb.Name == nameAfter(dir) {
			return sb.ID, nil
		}
		names[i] = sb.Name
	}
	return "", &api.Error{
		Code:    api.CodeConflict,
		Message: fmt.Sprintf("several sandboxes belong to %s: %s", dir, strings.Join(names, ", ")),
		Hint:    "choose one with -s NAME",
	}
}

// nameAfter is the name the daemon gives to the first sandbox of a directory.
func nameAfter(dir string) string {
	legal := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}
	name := strings.TrimLeft(strings.Map(legal, strings.ToLower(filepath.Base(dir))), "-")
	name = strings.TrimRight(name[:min(len(name), 48)], "-")
	if name == "" {
		return "sandbox"
	}
	return name
}
