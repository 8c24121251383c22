package config

import "github.com/coop-dev/coop/api"

// notYet are the keys whose feature is not there and that have no way into the
// API either, so that only we can refuse them. A row leaves this table with the
// change that brings its feature. Defaults do not count: only what a file sets.
func notYet() []later {
	return []later{
		{"session.persist", func(c *Config) bool { return len(c.Session.Persist) > 0 }},
		{"review.deny", func(c *Config) bool { return len(c.Review.Deny) > 0 }},
		{"review.flag", func(c *Config) bool { return len(c.Review.Flag) > 0 }},
		{"review.check", func(c *Config) bool { return c.Review.Check != "" }},
		{"review.commit_message", func(c *Config) bool { return c.Review.CommitMessage != "" }},
		{"driver.upper", func(c *Config) bool { return c.Driver.Upper != "disk" }},
		{"cache.paths", func(c *Config) bool { return len(c.Cache.Paths) > 0 }},
	}
}

// later is a key of that table and whether its value asks for anything: one
// that says what happens anyway is no request.
type later struct {
	key  string
	asks func(*Config) bool
}

// Supported refuses what cannot be had for a sandbox of an image.
func (c *Config) Supported(image string) error {
	if err := c.packagesNeedImage(image); err != nil {
		return err
	}
	var ps problems
	for _, l := range notYet() {
		if c.IsSet(l.key) && l.asks(c) {
			ps.add(c.at(l.key), "%s is not there yet", l.key).Hint = laterHint
		}
	}
	return ps.coded(api.CodeUnsupported)
}

const laterHint = "take it out; a newer coop may have it"

// packagesNeedImage: the host's own packages are the host's.
func (c *Config) packagesNeedImage(image string) error {
	if image != "" && image != "host" {
		return nil
	}
	var ps problems
	for _, p := range []struct {
		key  string
		list []string
	}{{"packages.apt", c.Packages.Apt}, {"packages.apk", c.Packages.Apk}, {"packages.dnf", c.Packages.Dnf}} {
		if len(p.list) > 0 {
			ps.add(c.at(p.key), "%s needs a real image, not the host's system", p.key).Hint = `set image in [base] to one such as "debian:12"`
		}
	}
	return ps.err()
}
