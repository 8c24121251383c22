package sandbox

import (
	"fmt"
	"strings"
	"testing"
)

func TestStorageAccepts(t *testing.T) {
	for name, s := range map[string]Spec{
		"volume workspace": {Workspace: Workspace{Source: "data", Mode: ModeVolume}, Persist: []string{".x"}, Reserve: []string{"."}},
		"persist":          {Workspace: Workspace{Source: "/p"}, Persist: []string{".claude", ".config/gh", ".claudes"}},
		"cache":            {Cache: []string{"~/.npm", "/var/cache/apt/archives", "~/.npms"}},
		"reserve":          {Workspace: Workspace{Source: "/p"}, Reserve: []string{"src", "docs/x", "."}},
		"mounts": {Mounts: []Mount{
			{Source: "data", Target: "/data", Seed: "/seed"},
			{Source: "/etc/ssl", Target: "/etc/ssl"},
			{Source: "/h/.gitconfig", Target: "~/.gitconfig"},
			{Source: "/x", Target: "/workspace/sub"},
			{Source: "/y", Target: "/procs"},
		}},
		"tmpfs with a size": {Upper: "tmpfs", Limits: Limits{DiskBytes: 1 << 20}},
	} {
		if err := s.WithDefaults().Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStorageRefuses(t *testing.T) {
	many := func(n int, f func(i int) string) (list []string) {
		for i := range n {
			list = append(list, f(i))
		}
		return list
	}
	mount := func(source, target string) Spec { return Spec{Mounts: []Mount{{Source: source, Target: target}}} }
	project := Workspace{Source: "/p", Repo: true}
	for name, s := range map[string]Spec{
		"relative source": mount("a/b", "/x"), "upper case": mount("Data", "/x"), "empty source": mount("", "/x"), "unclean source": mount("/a/../b", "/x"),
		"NUL in source": mount("/a\x00", "/x"), "relative target": mount("/a", "x"), "unclean target": mount("/a", "/x/../proc"), "NUL in target": mount("/a", "/x\x00"),
		"root": mount("/a", "/"), "proc": mount("/a", "/proc"), "below sys": mount("/a", "/sys/fs"), "dev": mount("/a", "/dev/x"), "etc": mount("/a", "/etc"),
		"home itself": mount("/a", "~"), "home with a slash": mount("/a", "~/"), "home of another": mount("/a", "~me/x"), "out of home": mount("/a", "~/../x"),
		"over the workspace": mount("/a", "/workspace"), "long target": mount("/a", "/"+strings.Repeat("x", 255)),
		"above the workspace": {Workspace: Workspace{Source: "/p", Path: "/a/b"}, Mounts: []Mount{{Source: "/s", Target: "/a"}}},
		"over the original":   {Workspace: project, Mounts: []Mount{{Source: "/s", Target: "/repo"}}},
		"in the original":     {Workspace: project, Mounts: []Mount{{Source: "/s", Target: "/repo/x"}}},
		"twice the same":      {Mounts: []Mount{{Source: "/s", Target: "/x"}, {Source: "v", Target: "/x"}}},
		"seed of a path":      {Mounts: []Mount{{Source: "/s", Target: "/x", Seed: "/y"}}},
		"relative seed":       {Mounts: []Mount{{Source: "v", Target: "/x", Seed: "y"}}},
		"persist up":          {Workspace: project, Persist: []string{"../x"}},
		"persist absolute":    {Workspace: project, Persist: []string{"/x"}},
		"persist all":         {Workspace: project, Persist: []string{"."}},
		"persist nested":      {Workspace: project, Persist: []string{".config", ".config/gh"}},
		"persist of nothing":  {Persist: []string{".x"}},
		"persist and mount":   {Workspace: project, Persist: []string{".x"}, Mounts: []Mount{{Source: "v", Target: "~/.x"}}},
		"cache relative":      {Cache: []string{"x"}},
		"cache nested":        {Cache: []string{"~/.cache", "~/.cache/pip"}},
		"cache twice":         {Cache: []string{"~/.npm", "~/.npm"}},
		"cache in proc":       {Cache: []string{"/proc/x"}},
		"reserve up":          {Workspace: project, Reserve: []string{"../x"}},
		"reserve absolute":    {Workspace: project, Reserve: []string{"/x"}},
		"reserve of nothing":  {Reserve: []string{"x"}},
		"tmpfs and copy":      {Upper: "tmpfs", Driver: "copy"},
		"hardly any tmpfs":    {Upper: "tmpfs", Limits: Limits{DiskBytes: 1}},
	} {
		if err := s.WithDefaults().Validate(); err == nil || CodeOf(err) != Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, s := range map[string]Spec{
		"persist": {Workspace: project, Persist: many(MaxPersist+1, func(i int) string { return fmt.Sprint("p", i) })},
		"cache":   {Cache: many(MaxCaches+1, func(i int) string { return fmt.Sprint("/c/", i) })},
		"reserve": {Workspace: project, Reserve: many(MaxReserved+1, func(i int) string { return fmt.Sprint("r", i) })},
		"mounts":  {Mounts: make([]Mount, MaxMounts+1)},
	} {
		if err := s.WithDefaults().Validate(); CodeOf(err) != TooLarge {
			t.Errorf("too many %s: %v", name, err)
		}
	}
}

func TestOverlap(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"a", "a"}: true, {"a", "a/b"}: true, {"a", "ab"}: false, {".", "x"}: true, {"/", "/x"}: true, {"/a", "/ab"}: false, {"a/b", "a/c"}: false,
	} {
		if Overlap(pair[0], pair[1]) != want || Overlap(pair[1], pair[0]) != want {
			t.Errorf("%q: not %v", pair, want)
		}
	}
}

func TestCacheWords(t *testing.T) {
	for word, path := range knownCaches() {
		if CachePath(word) != path || CachePath(path) != path {
			t.Errorf("%s: %s", word, CachePath(word))
		}
		if err := (Spec{Cache: []string{path}}).WithDefaults().Validate(); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
}
