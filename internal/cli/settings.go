package cli

import (
	"path/filepath"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/config"
)

// detachKey is the flag's, else what coop.toml says for a sandbox's project. A
// file with a mistake does not keep anybody from a sandbox that runs.
func (a *app) detachKey(f viewFlags, sb *api.Sandbox) (config.DetachKey, error) {
	if f.detachKey != "" {
		return f.keys()
	}
	c, err := a.projectConfig(sb)
	if err != nil {
		a.note("warning: coop.toml is not read: %s", err)
		defaults := config.Defaults()
		c = &defaults
	}
	return c.Terminal.Keys(), nil
}

// restartRequestOf is what coop.toml says now about a sandbox's project.
func (a *app) restartRequestOf(sb *api.Sandbox) (api.RestartRequest, error) {
	dir, err := projectDir(sb)
	if err != nil {
		return api.RestartRequest{}, err
	}
	return a.restartRequest(dir)
}

func (a *app) projectConfig(sb *api.Sandbox) (*config.Config, error) {
	dir, err := projectDir(sb)
	if err != nil {
		return nil, err
	}
	return a.loadConfig(dir)
}

// projectDir is where a sandbox's coop.toml is looked for: where its files come
// from, or here when that is no directory.
func projectDir(sb *api.Sandbox) (string, error) {
	if dir := sb.Workspace.Source; filepath.IsAbs(dir) && (sb.Workspace.Mode == "overlay" || sb.Workspace.Mode == "bind") {
		return dir, nil
	}
	return workingDir()
}
