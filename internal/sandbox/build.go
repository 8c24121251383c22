package sandbox

import "strings"

// Build is what a base has beyond its image. Each package manager with packages
// is a step, each command of Run is one, and Install is the last.
type Build struct {
	Apt     []string `json:"apt,omitempty"`
	Apk     []string `json:"apk,omitempty"`
	Dnf     []string `json:"dnf,omitempty"`
	Npm     []string `json:"npm,omitempty"`
	Pip     []string `json:"pip,omitempty"`
	Run     []string `json:"run,omitempty"`
	Install string   `json:"install,omitempty"`
}

// Bounds of a build: more would be no configuration a person wrote.
const (
	MaxBuildSteps    = 200
	MaxPackages      = 2000
	maxPackageLength = 214 // what npm allows, the longest of them
)

// Empty reports whether there is nothing to build.
func (b *Build) Empty() bool {
	return b == nil || len(b.Apt)+len(b.Apk)+len(b.Dnf)+len(b.Npm)+len(b.Pip)+len(b.Run) == 0 && b.Install == ""
}

// Managers are the package managers in the order in which they run: those of the
// system bring the ones of the languages.
func (b Build) Managers() []Manager {
	return []Manager{
		{"apt", b.Apt, validApt},
		{"apk", b.Apk, validApk},
		{"dnf", b.Dnf, validDnf},
		{"npm", b.Npm, validNpm},
		{"pip", b.Pip, validPip},
	}
}

// Manager is a package manager and what it shall install.
type Manager struct {
	Name     string
	Packages []string

	valid func(string) bool
}

// Validate checks a build for an image. A package is a name, perhaps with a
// version: never an option, a path, an address or anything a shell would read.
func (b Build) Validate(image string) error {
	if len(b.Run) > MaxBuildSteps {
		return Errorf(TooLarge, "build: %d commands, at most %d are possible", len(b.Run), MaxBuildSteps)
	}
	for _, m := range b.Managers() {
		if err := m.validate(image); err != nil {
			return err
		}
	}
	for _, text := range append(b.Run[:len(b.Run):len(b.Run)], b.Install) {
		if strings.ContainsRune(text, 0) || len(text) >= MaxArgLength {
			return Errorf(Invalid, "build: a command holds a NUL byte or is longer than %d bytes", MaxArgLength-1)
		}
	}
	for _, text := range b.Run {
		if strings.TrimSpace(text) == "" {
			return Errorf(Invalid, "build: a command is empty")
		}
	}
	return nil
}

func validateBuild(s Spec) error {
	if s.Build == nil {
		return nil
	}
	return s.Build.Validate(s.Image)
}

func (m Manager) validate(image string) error {
	if len(m.Packages) > MaxPackages {
		return Errorf(TooLarge, "build: %d packages of %s, at most %d are possible", len(m.Packages), m.Name, MaxPackages)
	}
	if ofSystem := m.Name == "apt" || m.Name == "apk" || m.Name == "dnf"; ofSystem && len(m.Packages) > 0 && image == DefaultImage {
		return Errorf(Invalid, "packages of %s need a real image, not the host's system", m.Name).
			WithHint(`choose an image such as "debian:12"`)
	}
	for _, p := range m.Packages {
		if len(p) > maxPackageLength || !m.valid(p) {
			return Errorf(Invalid, "%.80q is not the name of a package of %s", p, m.Name).
				WithHint("a name, and a version if need be: no options, paths or addresses")
		}
	}
	return nil
}

const versions = letters + digits + ".+~:_-"

// validApt accepts name, name:arch, name=version and name/release. A dash at the
// end would remove the package.
func validApt(s string) bool {
	name, version, versioned := cutAny(s, "=/")
	name, arch, foreign := strings.Cut(name, ":")
	return made(name, lower+digits, lower+digits+"+.-") && !strings.HasSuffix(name, "-") &&
		(!foreign || made(arch, lower+digits, lower+digits)) && (!versioned || made(version, letters+digits, versions))
}

// validApk accepts name, name=version and its like.
func validApk(s string) bool {
	name, version, versioned := cutAny(s, "=<>~")
	return made(name, letters+digits, letters+digits+"+._-") &&
		(!versioned || made(strings.TrimLeft(version, "=<>~"), digits, versions))
}

// validDnf accepts name, name-version and name.arch.
func validDnf(s string) bool { return made(s, letters+digits, letters+digits+"+._~:-") }

// validNpm accepts name and @scope/name, both with @version.
func validNpm(s string) bool {
	if rest, scoped := strings.CutPrefix(s, "@"); scoped {
		scope, name, ok := strings.Cut(rest, "/")
		if !ok || !made(scope, lower+digits, lower+digits+"._~-") {
			return false
		}
		s = name
	}
	name, version, versioned := strings.Cut(s, "@")
	return made(name, lower+digits, letters+digits+"._~-") &&
		(!versioned || made(version, letters+digits+"^~<>=*", letters+digits+"^~<>=*.+-"))
}

// validPip accepts name[extra]>=1,<2.
func validPip(s string) bool {
	name, rest, bounded := cutAny(s, "=<>~!")
	name, extras, extended := strings.Cut(name, "[")
	if !made(name, letters+digits, letters+digits+"._-") {
		return false
	}
	if extended && (!strings.HasSuffix(extras, "]") || !made(strings.TrimSuffix(extras, "]"), letters+digits, letters+digits+",._-")) {
		return false
	}
	return !bounded || strings.Trim(rest, letters+digits+"=<>~!.,*+_-") == "" && !strings.HasPrefix(rest, "-")
}

// cutAny cuts before the first of some characters.
func cutAny(s, chars string) (before, after string, found bool) {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
