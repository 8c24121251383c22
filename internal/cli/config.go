package cli

import (
	"os"
	"path/filepath"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/config"
)

// loadConfig reads every layer of coop.toml for a directory, and tells of files
// that do not count.
func (a *app) loadConfig(dir string) (*config.Config, error) {
	home, err := personHome()
	if err != nil {
		home = "" // who has no home has no files there either
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real // as dir is
	}
	file := a.flags.config
	if file != "" {
		if file, err = filepath.Abs(file); err != nil { // dir may be another than ours
			return nil, err
		}
	}
	c, err := config.Load(config.Options{
		Dir: dir, Home: home, UserDir: config.UserDir(home), File: file, UID: os.Geteuid(),
	})
	if err != nil {
		return nil, err
	}
	for _, i := range c.Ignored {
		a.note("warning: %s is not read: it %s", shortPath(dir, i.File), i.Reason)
		if !a.flags.quiet {
			a.hint("%s", i.Hint)
		}
	}
	for _, file := range c.Files {
		a.detail("read %s", file)
	}
	return c, nil
}

// createRequest is what a new sandbox of a directory shall be like: the files
// that apply there, and over them the flags that were given. The Config says
// what is no part of a request, such as the key that detaches.
func (a *app) createRequest(dir string, flags *specFlags) (req api.CreateRequest, c *config.Config, err error) {
	if c, err = a.loadConfig(dir); err != nil {
		return req, nil, err
	}
	req = c.Request()
	if err := flags.apply(&req); err != nil {
		return req, nil, err
	}
	if err := c.Supported(req.Image); err != nil {
		return req, nil, err
	}
	given, err := envMap(flags.env)
	if err != nil {
		return req, nil, err
	}
	if req.Env, err = c.Environ(os.LookupEnv, given); err != nil {
		return req, nil, err
	}
	mounts, err := flags.mountList()
	req.Mounts = append(c.MountList(), mounts...)
	return req, c, err
}

// restartRequest is what coop.toml says now about a sandbox that is there.
func (a *app) restartRequest(dir string) (api.RestartRequest, error) {
	c, err := a.loadConfig(dir)
	if err != nil {
		return api.RestartRequest{}, err
	}
	return c.Restart(os.LookupEnv)
}

// reportProblems prints each mistake of a file on a line of its own.
func (a *app) reportProblems(bad *config.Error) {
	cwd, _ := os.Getwd() // without one the paths are longer
	for _, p := range bad.Problems {
		p.File = shortPath(cwd, p.File)
		a.message("%s", p)
		if p.Hint != "" {
			a.hint("%s", p.Hint)
		}
	}
}

// shortPath is relative for what lies below dir.
func shortPath(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return file
}
