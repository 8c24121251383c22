package config

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/coop-dev/coop/api"
)

// Mount is one of [[mounts]]: a path of the host or a volume, and where it is
// seen inside.
type Mount struct {
	Source, Target, Seed string
	Write                bool

	at place
}

func mountKeys() []key[Mount] {
	return []key[Mount]{
		{"source", func(m *Mount) any { return &m.Source }, checkMountSource, false, "path (absolute, relative to the file, or `~/…` in your home), or the name of a volume"},
		{"target", func(m *Mount) any { return &m.Target }, checkInsideHome, false, "path inside; `~/…` is in the sandbox's home"},
		{"write", func(m *Mount) any { return &m.Write }, nil, false, "may be written; a path is read-only unless it is true, a volume unless it is false"},
		{"seed", func(m *Mount) any { return &m.Seed }, checkSeed, false, "volume: a path as above, whose content is copied into it at first use; without it what the image has at `target`"},
	}
}

// needHome refuses ~ of a person who has no home: it would be /.
func (c *Config) needHome(ps *problems) {
	for i, m := range c.Mounts {
		if c.home == "" && strings.HasPrefix(m.Source, "~") {
			ps.add(m.at, "mounts[%d].source: you have no home", i).Hint = "set HOME, or write the whole path"
		}
		if c.home == "" && strings.HasPrefix(m.Seed, "~") {
			ps.add(m.at, "mounts[%d].seed: you have no home", i).Hint = "set HOME, or write the whole path"
		}
		if m.Seed != "" && isPath(m.Source) {
			ps.add(m.at, "mounts[%d].seed is only for volumes", i).Hint = "a path shows what is there; take the seed out"
		}
	}
}

// MountList gives the mounts in the API's words. Where the sandbox's home is only
// its image tells: ~ in a target stays.
func (c *Config) MountList() []api.Mount {
	var all []api.Mount
	for _, m := range c.Mounts {
		out := api.Mount{Source: m.Source, Target: m.Target, Write: m.Write}
		if isPath(m.Source) {
			out.Source = c.hostPath(m, m.Source)
		}
		if m.Seed != "" {
			out.Seed = c.hostPath(m, m.Seed)
		}
		all = append(all, out)
	}
	return all
}

func (c *Config) hostPath(m Mount, p string) string {
	switch {
	case strings.HasPrefix(p, "~"):
		return inHome(p, c.home)
	case filepath.IsAbs(p):
		return filepath.Clean(p)
	}
	return filepath.Join(m.at.file.dir, p)
}

// isPath tells a path from the name of a volume, which has no slash and begins
// with a letter or a digit.
func isPath(source string) bool {
	return strings.ContainsRune(source, '/') || strings.HasPrefix(source, ".") || strings.HasPrefix(source, "~")
}

// inHome puts home in the place of a leading ~.
func inHome(p, home string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok {
		return path.Join(home, rest)
	}
	return p
}
