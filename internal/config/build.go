package config

import "github.com/coop-dev/coop/api"

// Build is what the base has beyond its image; nil when that is nothing.
func (c *Config) Build() *api.Build {
	p := c.Packages
	packages := len(p.Apt)+len(p.Apk)+len(p.Dnf)+len(p.Npm)+len(p.Pip) > 0
	if !packages && len(c.Setup.Run) == 0 && c.Agent.Install == "" {
		return nil
	}
	b := &api.Build{Run: c.Setup.Run, Install: c.Agent.Install}
	if packages {
		b.Packages = &api.Packages{Apt: p.Apt, Apk: p.Apk, Dnf: p.Dnf, Npm: p.Npm, Pip: p.Pip}
	}
	return b
}
