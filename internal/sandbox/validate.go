package sandbox

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Sizes past which a request is refused before the kernel sees it.
const (
	MaxEnvEntries  = 4096
	MaxArgBytes    = 6 << 20   // the kernel's own ceiling for arguments and environment
	MaxArgLength   = 128 << 10 // MAX_ARG_STRLEN
	MaxLabels      = 64
	maxPathLength  = 4095
	maxUserLength  = 64
	maxLabelLength = 256
	maxImageLength = 512
	maxCPU         = 8192
)

// Fences lists the names that may stand in security.optional.
var fences = []string{"limits", "seccomp", "groups", "mask"}

// WithDefaults returns s with every empty field set to its built-in default.
func (s Spec) WithDefaults() Spec {
	def := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	def(&s.Image, DefaultImage)
	def((*string)(&s.Network), string(NetworkNone))
	def(&s.Security.Seccomp, DefaultSeccomp)
	if s.Image == DefaultImage { // another image says itself whom its programs run as
		def(&s.Agent.User, DefaultUser)
	}
	def(&s.Workspace.Path, DefaultMountPath)
	def(&s.Driver, "auto")
	def(&s.Upper, "disk")
	if s.Workspace.Mode == "" {
		s.Workspace.Mode = ModeNone
		if s.Workspace.Source != "" {
			s.Workspace.Mode = ModeOverlay
		}
	}
	if s.Limits.PIDs == 0 {
		s.Limits.PIDs = DefaultPIDs
	}
	return s
}

// Validate checks everything that can be checked without looking at the host.
// It expects a Spec WithDefaults.
func (s Spec) Validate() error {
	for _, check := range []func(Spec) error{
		validateName, validateWorkspace, validateImage, validateBuild, validateEnv, validateNetwork, validateSecurity,
		validateLimits, validateUser, validateDriver, validateLabels, validateReview, validateStorage,
		func(s Spec) error { return s.Session.Validate() },
	} {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

func validateName(s Spec) error {
	if s.Name == "" || ValidName(s.Name) {
		return nil
	}
	return Errorf(Invalid, "illegal name %q", s.Name).
		WithHint("a name is 1 to 63 of a-z, 0-9 and -, and does not begin with -")
}

func validateWorkspace(s Spec) error {
	w := s.Workspace
	switch w.Mode {
	case ModeOverlay, ModeBind:
		if w.Source == "" {
			return Errorf(Invalid, "workspace mode %q needs a source directory", w.Mode)
		}
		if !filepath.IsAbs(w.Source) || len(w.Source) > maxPathLength || strings.ContainsRune(w.Source, 0) {
			return Errorf(Invalid, "workspace source %q is not an absolute path", w.Source)
		}
	case ModeNone:
		if w.Source != "" {
			return Errorf(Invalid, "workspace mode \"none\" takes no source")
		}
	case ModeVolume:
		if !ValidName(w.Source) {
			return Errorf(Invalid, "workspace mode \"volume\" needs a name, not %.128q", w.Source).
				WithHint("a name is 1 to 63 of a-z, 0-9 and -, and does not begin with -")
		}
	case ModeClone:
		return Errorf(Unsupported, "workspace mode %q is not there yet", w.Mode).
			WithHint("use overlay, bind, volume or none")
	default:
		return Errorf(Invalid, "unknown workspace mode %q", w.Mode).WithHint("one of overlay, bind, volume, none")
	}
	return validateMountPath(w.Path)
}

// validateMountPath refuses places where a workspace would hide the system.
func validateMountPath(p string) error {
	if !path.IsAbs(p) || path.Clean(p) != p || len(p) > 255 || strings.ContainsRune(p, 0) {
		return Errorf(Invalid, "workspace path %q is not a clean absolute path", p)
	}
	top := "/" + strings.SplitN(p[1:], "/", 2)[0]
	taken := []string{"/", "/proc", "/sys", "/dev", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/run", "/tmp", RepoPath}
	if slices.Contains(taken, top) {
		return Errorf(Invalid, "workspace path %q would hide part of the system", p).
			WithHint("choose a path of its own, such as /workspace or /home/me/project")
	}
	return nil
}

// validateImage refuses what can be no name; which images there are is known to
// who has them.
func validateImage(s Spec) error {
	unprintable := func(r rune) bool { return r < ' ' || r == 0x7f }
	if s.Image[0] == '-' || len(s.Image) > maxImageLength || strings.ContainsFunc(s.Image, unprintable) {
		return Errorf(Invalid, "%.128q is not the name of an image", s.Image).
			WithHint("\"host\", or an image such as debian:12")
	}
	return nil
}

func validateEnv(s Spec) error { return ValidateEnv(s.Env) }

// ValidateEnv checks names and values of an environment.
func ValidateEnv(env map[string]string) error {
	if len(env) > MaxEnvEntries {
		return Errorf(TooLarge, "%d environment variables, at most %d", len(env), MaxEnvEntries)
	}
	for k, v := range env {
		if !made(k, letters+"_", letters+digits+"_") {
			return Errorf(Invalid, "illegal environment variable name %q", k)
		}
		if strings.ContainsRune(v, 0) {
			return Errorf(Invalid, "environment variable %s holds a NUL byte", k)
		}
		if len(k)+len(v)+2 > MaxArgLength {
			return Errorf(TooLarge, "environment variable %s is longer than %d bytes", k, MaxArgLength)
		}
	}
	return nil
}

func validateNetwork(s Spec) error {
	switch s.Network {
	case NetworkNone, NetworkHost:
		return nil
	case NetworkVeth, "bridge":
		return Errorf(Unsupported, "network mode %q is not there yet", s.Network).
			WithHint("use --network none or --network host")
	}
	return Errorf(Invalid, "unknown network mode %q", s.Network).WithHint("one of none, host")
}

func validateSecurity(s Spec) error {
	switch s.Security.Seccomp {
	case "default", "strict", "off":
	case "nesting":
		return Errorf(Unsupported, "seccomp profile \"nesting\" is not there yet").WithHint("use default or strict")
	default:
		return Errorf(Invalid, "unknown seccomp profile %q", s.Security.Seccomp).WithHint("one of default, strict, off")
	}
	for _, f := range s.Security.Optional {
		if !slices.Contains(fences, f) {
			return Errorf(Invalid, "unknown fence %q in security.optional", f).
				WithHint("one of %s", strings.Join(fences, ", "))
		}
	}
	return nil
}

func validateLimits(s Spec) error {
	l := s.Limits
	if l.CPU < 0 || l.MemoryBytes < 0 || l.PIDs < 0 || l.DiskBytes < 0 || l.ExecTimeout < 0 {
		return Errorf(Invalid, "limits cannot be negative")
	}
	if l.CPU != 0 && !(l.CPU >= 0.01 && l.CPU <= maxCPU) { // also when it is no number
		return Errorf(Invalid, "cpu limit %g is not between 0.01 and %d", l.CPU, maxCPU)
	}
	if l.MemoryBytes > 0 && l.MemoryBytes < 8<<20 {
		return Errorf(Invalid, "memory limit of %d bytes is below 8 MiB", l.MemoryBytes).
			WithHint("write sizes as 512MiB or 4GiB")
	}
	if l.PIDs > 0 && l.PIDs < 16 {
		return Errorf(Invalid, "pids limit %d is below 16", l.PIDs)
	}
	if l.DiskBytes > 0 && s.Upper != "tmpfs" {
		return Errorf(Unsupported, "disk limits are not there yet").WithHint("with upper = \"tmpfs\" they hold")
	}
	return nil
}

func validateUser(s Spec) error {
	if s.Agent.User == "" && s.Image != DefaultImage {
		return nil
	}
	return ValidateUser(s.Agent.User)
}

// ValidateUser accepts a name, a uid or uid:gid.
func ValidateUser(u string) error {
	if len(u) > maxUserLength || !(validUserName(u) || validIDs(u)) {
		return Errorf(Invalid, "illegal user %q", u).WithHint("a name, a uid or uid:gid")
	}
	return nil
}

func validUserName(s string) bool {
	return made(strings.TrimSuffix(s, "$"), lower+"_", lower+digits+"_.-")
}

// validIDs accepts uid and uid:gid; the kernel has the last word on the numbers.
func validIDs(s string) bool {
	uid, gid, both := strings.Cut(s, ":")
	number := func(n string) bool { return len(n) <= 10 && made(n, digits, digits) }
	return number(uid) && (!both || number(gid))
}

func validateDriver(s Spec) error {
	switch s.Driver {
	case "auto", "overlay", "copy":
	case "sqlite":
		return Errorf(Unsupported, "driver %q is not there yet", s.Driver).WithHint("use overlay or copy")
	default:
		return Errorf(Invalid, "unknown driver %q", s.Driver).WithHint("one of auto, overlay, copy")
	}
	if s.Upper != "disk" && s.Upper != "tmpfs" {
		return Errorf(Invalid, "unknown upper %q", s.Upper).WithHint("disk or tmpfs")
	}
	if s.Upper == "tmpfs" && s.Driver == "copy" {
		return Errorf(Invalid, "the copy driver needs upper = \"disk\"").WithHint("leave one of the two out")
	}
	if s.Upper == "tmpfs" && s.Limits.DiskBytes > 0 && s.Limits.DiskBytes < 1<<20 {
		return Errorf(Invalid, "disk limit of %d bytes is below 1 MiB", s.Limits.DiskBytes).WithHint("write sizes as 512MiB or 4GiB")
	}
	return nil
}

func validateLabels(s Spec) error {
	if len(s.Labels) > MaxLabels {
		return Errorf(TooLarge, "%d labels, at most %d", len(s.Labels), MaxLabels)
	}
	for k, v := range s.Labels {
		if k == "" || len(k) > maxLabelLength || len(v) > maxLabelLength || strings.ContainsAny(k, "=\x00") {
			return Errorf(Invalid, "illegal label %q", k)
		}
	}
	return nil
}
