package sandbox

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of what one sandbox may have mounted.
const (
	MaxMounts   = 64
	MaxPersist  = 16
	MaxCaches   = 16
	MaxReserved = 64
)

// Mount is a path of the host or a named volume that a sandbox sees.
type Mount struct {
	Source string `json:"source"`          // absolute path, or the name of a volume
	Target string `json:"target"`          // absolute, or ~/… in the home of the sandbox's user
	Write  bool   `json:"write,omitempty"` // otherwise read-only
	Seed   string `json:"seed,omitempty"`  // volume: the host path its content is copied from at first use
	UID    uint32 `json:"uid,omitempty"`   // of who asked, as the daemon counts: the owner Source and Seed must have
}

// IsVolume tells a volume's name from a path.
func (m Mount) IsVolume() bool { return !strings.HasPrefix(m.Source, "/") }

// DefaultPersist is kept for a project when a request does not say.
func DefaultPersist() []string { return []string{".claude"} }

// knownCaches are words for the places where package managers keep downloads.
func knownCaches() map[string]string {
	return map[string]string{
		"npm": "~/.npm", "yarn": "~/.cache/yarn", "pnpm": "~/.local/share/pnpm/store",
		"pip": "~/.cache/pip", "uv": "~/.cache/uv", "go": "~/go/pkg/mod", "cargo": "~/.cargo/registry",
		"apt": "/var/cache/apt/archives", "apk": "/var/cache/apk", "dnf": "/var/cache/dnf",
	}
}

// CachePath turns a word such as npm into its path; a path stays what it is.
func CachePath(s string) string {
	if p, ok := knownCaches()[s]; ok {
		return p
	}
	return s
}

// Project is what kept files belong to: the directory or volume a sandbox works
// on. Empty: a sandbox of nothing keeps nothing.
func (s Spec) Project() string {
	if s.Workspace.Mode == ModeVolume {
		return "volume:" + s.Workspace.Source
	}
	return s.Workspace.Source
}

func validateStorage(s Spec) error {
	targets := map[string]string{}
	for _, check := range []func(Spec, map[string]string) error{validateMounts, validatePersist, validateCache} {
		if err := check(s, targets); err != nil {
			return err
		}
	}
	return validateReserve(s)
}

func validateMounts(s Spec, targets map[string]string) error {
	if len(s.Mounts) > MaxMounts {
		return Errorf(TooLarge, "%d mounts, at most %d", len(s.Mounts), MaxMounts)
	}
	for _, m := range s.Mounts {
		if err := validateMountSource(m); err != nil {
			return err
		}
		if err := takeTarget(s, targets, "mount", m.Target); err != nil {
			return err
		}
	}
	return nil
}

func validateMountSource(m Mount) error {
	switch {
	case m.IsVolume() && !ValidName(m.Source):
		return Errorf(Invalid, "mount source %.128q is neither an absolute path nor the name of a volume", m.Source).
			WithHint("a volume's name is 1 to 63 of a-z, 0-9 and -, and does not begin with -")
	case !m.IsVolume() && !cleanPath(m.Source):
		return Errorf(Invalid, "mount source %.128q is not a clean absolute path", m.Source)
	case m.Seed != "" && !m.IsVolume():
		return Errorf(Invalid, "mount %.128s: seed is only for volumes", m.Source)
	case m.Seed != "" && !cleanPath(m.Seed):
		return Errorf(Invalid, "seed %.128q is not a clean absolute path", m.Seed)
	}
	return nil
}

func cleanPath(p string) bool {
	return filepath.IsAbs(p) && filepath.Clean(p) == p && len(p) <= maxPathLength && !strings.ContainsRune(p, 0)
}

// takeTarget refuses places a mount must not cover, and one that is taken.
func takeTarget(s Spec, targets map[string]string, what, target string) error {
	if err := validateTarget(what, target); err != nil {
		return err
	}
	covers := []string{s.Workspace.Path}
	if s.Workspace.Repo {
		covers = append(covers, RepoPath)
	}
	for _, c := range covers {
		if c == target || strings.HasPrefix(c, target+"/") {
			return Errorf(Invalid, "%s at %s would hide %s", what, target, c).WithHint("choose another target")
		}
	}
	if s.Workspace.Repo && strings.HasPrefix(target, RepoPath+"/") {
		return Errorf(Invalid, "%s at %s: %s is read-only", what, target, RepoPath).WithHint("choose another target")
	}
	if other, taken := targets[target]; taken {
		return Errorf(Invalid, "%s and %s have the same target %s", other, what, target)
	}
	targets[target] = what
	return nil
}

func validateTarget(what, target string) error {
	inside := target
	if rest, ok := strings.CutPrefix(target, "~/"); ok {
		inside = "/home/x/" + rest
	}
	if !path.IsAbs(inside) || path.Clean(inside) != inside || len(inside) > 255 || strings.ContainsRune(inside, 0) {
		return Errorf(Invalid, "%s target %.128q is not a clean path inside", what, target).WithHint("such as /data or ~/data")
	}
	top := "/" + strings.SplitN(inside[1:], "/", 2)[0]
	if slices.Contains([]string{"/proc", "/sys", "/dev"}, top) {
		return Errorf(Invalid, "%s target %s lies in %s, which is the kernel's", what, target, top).WithHint("choose another target")
	}
	whole := []string{"/", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/run", "/tmp", "/var", "/home", "/root", "/opt"}
	if slices.Contains(whole, inside) {
		return Errorf(Invalid, "%s target %s would hide part of the system", what, target).WithHint("choose a directory below it")
	}
	return nil
}

func validatePersist(s Spec, targets map[string]string) error {
	if len(s.Persist) > MaxPersist {
		return Errorf(TooLarge, "%d persist directories, at most %d", len(s.Persist), MaxPersist)
	}
	if len(s.Persist) > 0 && s.Project() == "" {
		return Errorf(Invalid, "persist needs a project to keep %s for", s.Persist[0]).
			WithHint("leave it out for a workspace of mode %s", s.Workspace.Mode)
	}
	for i, p := range s.Persist {
		if !below(p) {
			return Errorf(Invalid, "persist %.128q is not a path below the home", p).WithHint("such as .claude or .config/gh")
		}
		for _, other := range s.Persist[:i] {
			if Overlap(p, other) {
				return Errorf(Invalid, "persist %s and %s lie in each other", other, p).WithHint("name the outer one only")
			}
		}
		if err := takeTarget(s, targets, "persist", "~/"+p); err != nil {
			return err
		}
	}
	return nil
}

func validateCache(s Spec, targets map[string]string) error {
	if len(s.Cache) > MaxCaches {
		return Errorf(TooLarge, "%d cache paths, at most %d", len(s.Cache), MaxCaches)
	}
	for i, c := range s.Cache {
		for _, other := range s.Cache[:i] {
			if Overlap(c, other) {
				return Errorf(Invalid, "cache paths %s and %s lie in each other", other, c).WithHint("name the outer one only")
			}
		}
		if err := takeTarget(s, targets, "cache", c); err != nil {
			return err
		}
	}
	return nil
}

func validateReserve(s Spec) error {
	if len(s.Reserve) == 0 {
		return nil
	}
	if len(s.Reserve) > MaxReserved {
		return Errorf(TooLarge, "%d reserved paths, at most %d", len(s.Reserve), MaxReserved)
	}
	if m := s.Workspace.Mode; m != ModeOverlay && m != ModeBind && m != ModeVolume {
		return Errorf(Invalid, "a workspace of mode %s has nothing to reserve", m).WithHint("leave workspace.reserve out")
	}
	for _, p := range s.Reserve {
		if p != "." && !below(p) {
			return Errorf(Invalid, "reserve %.128q is not a path below the workspace's source", p).
				WithHint("relative to the source, such as src; . is all of it")
		}
	}
	return nil
}

// below accepts relative paths that stay where they are.
func below(p string) bool {
	return p != "" && p != "." && !path.IsAbs(p) && path.Clean(p) == p && p != ".." && !strings.HasPrefix(p, "../") &&
		len(p) <= 255 && !strings.ContainsRune(p, 0)
}

// Overlap reports whether one clean path is the other or lies below it: a and ab
// do not, and . contains everything.
func Overlap(a, b string) bool {
	contains := func(outer, inner string) bool {
		return outer == "." || outer == inner || strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/")
	}
	return contains(a, b) || contains(b, a)
}
