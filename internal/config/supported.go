package config

// Supported refuses what cannot be had for a sandbox of an image.
func (c *Config) Supported(image string) error { return c.packagesNeedImage(image) }

// laterHint goes with a setting whose feature is not there.
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
