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
	Source, Target string
	Write          bool

	at place
}

func mountKeys() []key[Mount] {
	return []key[Mount]{
		{"source", func(m *Mount) any { return &m.Source }, checkMountSource, false, "path (absolute, relative to the file, or `~/…` in your home), or the name of a volume"},
		{"target", func(m *Mount) any { return &m.Target }, checkInsideHome, false, "path inside; `~/…` is in the sandbox's home"},
		{"write", func(m *Mount) any { return &m.Write }, nil, false, "may be written; a path is read-only unless it is true"},
	}
}

// needHome refuses ~ of a person who has no home: it would be /.
func (c *Config) needHome(ps *problems) {
	for i, m := range c.Mounts {
		if c.home == "" && strings.HasPrefix(m.Source, "~") {
			ps.add(m.at, "mounts[%d].source: you have no home", i).Hint = "set HOME, or write the whole path"
		}
	}
}

// MountList gives the mounts in the API's words, for a sandbox whose programs
// run as user.
func (c *Config) MountList(user string) []api.Mount {
	var all []api.Mount
	for _, m := range c.Mounts {
		all = append(all, api.Mount{Source: c.mountSource(m), Target: inHome(m.Target, insideHome(user)), Write: m.Write})
	}
	return all
}

func (c *Config) mountSource(m Mount) string {
	switch {
	case !isPath(m.Source):
		return m.Source
	case strings.HasPrefix(m.Source, "~"):
		return inHome(m.Source, c.home)
	case filepath.IsAbs(m.Source):
		return filepath.Clean(m.Source)
	}
	return filepath.Join(m.at.file.dir, m.Source)
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

// insideHome is the home that a user has in a sandbox.
func insideHome(user string) string {
	name, _, _ := strings.Cut(user, ":")
	if name == "" || name == "root" || strings.Trim(name, "0") == "" {
		return "/root"
	}
	return "/home/" + name
}
