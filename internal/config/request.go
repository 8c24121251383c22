package config

import (
	"path/filepath"
	"strings"

	"github.com/coop-dev/coop/api"
)

// Request puts what the files set into the API's words. Environment, mounts and
// what is not supported are left to Environ, MountList and Supported: they
// depend on what the flags say. Defaults are the daemon's business, but for the
// workspace, which is the project's directory.
func (c *Config) Request() api.CreateRequest {
	req := api.CreateRequest{
		Workspace: c.workspace(), Network: c.network(), Limits: c.limits(), Security: c.security(),
		Agent: c.agent(), Session: c.session(), Review: c.review(), Build: c.Build(),
	}
	if c.IsSet("base.image") {
		req.Image = c.image()
	}
	if c.IsSet("driver.workspace") {
		req.Driver = c.Driver.Workspace
	}
	if c.IsSet("driver.upper") {
		req.Upper = c.Driver.Upper
	}
	if c.IsSet("session.persist") {
		req.Persist = &c.Session.Persist
	}
	if len(c.Cache.Paths) > 0 {
		req.Cache = c.Cache.Paths
	}
	if c.IsSet("session.ttl") {
		req.TTL = c.Session.TTL
	}
	if c.IsSet("session.idle_timeout") {
		req.IdleTimeout = c.Session.IdleTimeout
	}
	return req
}

// Restart is what a running sandbox can be told anew.
func (c *Config) Restart(lookup func(string) (string, bool)) (api.RestartRequest, error) {
	env, err := c.Environ(lookup, nil)
	return api.RestartRequest{Agent: c.agent(), Env: env, Session: c.session()}, err
}

// image makes the paths of oci: and tar: absolute.
func (c *Config) image() string {
	for _, kind := range []string{"oci:", "tar:"} {
		if p, ok := strings.CutPrefix(c.Base.Image, kind); ok && !filepath.IsAbs(p) {
			return kind + filepath.Join(c.at("base.image").file.dir, p)
		}
	}
	return c.Base.Image
}

// workspace leaves Source empty in mode none unless a file sets it, which the
// daemon refuses.
func (c *Config) workspace() *api.Workspace {
	w := c.Workspace
	out := &api.Workspace{Mode: w.Mode, Source: c.workspaceSource(), Commit: w.Commit, Reserve: w.Reserve}
	if c.IsSet("workspace.path") {
		out.Path = w.Path
	}
	if c.IsSet("workspace.repo") && w.Mode == "overlay" {
		out.Repo = &w.Repo
	}
	if len(out.Reserve) == 0 {
		out.Reserve = nil
	}
	return out
}

func (c *Config) workspaceSource() string {
	if !c.IsSet("workspace.source") {
		if c.Workspace.Mode == "none" || c.Workspace.Mode == "volume" {
			return ""
		}
		return c.Dir
	}
	s := c.Workspace.Source
	if c.Workspace.Mode == "volume" || c.Workspace.Mode == "clone" && strings.Contains(s, ":") || filepath.IsAbs(s) {
		return s
	}
	return filepath.Join(c.at("workspace.source").file.dir, s)
}

func (c *Config) network() *api.Network {
	if !c.IsSet("network.mode") {
		return nil
	}
	return &api.Network{Mode: c.Network.Mode}
}

func (c *Config) limits() *api.Limits {
	l := c.Limits
	if !c.IsSet("limits.pids") {
		l.PIDs = 0 // a default degrades where the host cannot enforce it; one that is asked for fails
	}
	if l == (api.Limits{}) {
		return nil
	}
	return &l
}

func (c *Config) security() *api.Security {
	if !c.IsSet("security") {
		return nil
	}
	s := c.Security
	if !c.IsSet("security.seccomp") {
		s.Seccomp = ""
	}
	return &s
}

func (c *Config) agent() *api.Agent {
	if !c.anySet("agent.command", "agent.args", "agent.user") {
		return nil
	}
	a := &api.Agent{Command: c.Agent.Command, Args: c.Agent.Args}
	if c.IsSet("agent.user") {
		a.User = c.Agent.User
	}
	return a
}

func (c *Config) session() *api.Session {
	if !c.anySet("session.auto_restart", "session.restart_delay", "terminal.scrollback", "terminal.ctrl_c_debounce", "terminal.block") {
		return nil
	}
	s := &api.Session{Block: c.Terminal.Block}
	if c.IsSet("session.auto_restart") {
		s.AutoRestart = &c.Session.AutoRestart
	}
	if c.IsSet("session.restart_delay") {
		s.RestartDelay = atOnce(c.Session.RestartDelay)
	}
	if c.IsSet("terminal.scrollback") {
		s.Scrollback = c.Terminal.Scrollback
	}
	if c.IsSet("terminal.ctrl_c_debounce") {
		s.CtrlCDebounce = atOnce(c.Terminal.CtrlCDebounce)
	}
	return s
}

// review is nil when no file says anything about it: the daemon has the defaults.
func (c *Config) review() *api.ReviewPolicy {
	if !c.IsSet("review") {
		return nil
	}
	r := c.Review
	p := &api.ReviewPolicy{
		Allow: r.Allow, Check: r.Check, CommitAuthor: r.CommitAuthor, MaxFileBytes: r.MaxFile, NoBinary: r.NoBinary,
	}
	if c.IsSet("review.deny") {
		p.Deny = r.Deny
	}
	if c.IsSet("review.flag") {
		p.Flag = r.Flag
	}
	if c.IsSet("review.commit_message") {
		p.CommitMessage = r.CommitMessage
	}
	if r.AutoFiles > 0 {
		p.AutoApprove = &api.AutoApprove{MaxFiles: int(r.AutoFiles), MaxLines: int(r.AutoLines)}
	}
	return p
}

// atOnce is for durations whose zero means the default in the API: "0" in a
// file means none, and a nanosecond is none.
func atOnce(d api.Duration) api.Duration { return max(d, 1) }
