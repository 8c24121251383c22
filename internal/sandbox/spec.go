package sandbox

import "time"

// Mode says how a workspace relates to its source.
type Mode string

// The workspace modes. Clone is known by name so that asking for it is answered
// with `unsupported` instead of `invalid`.
const (
	ModeOverlay Mode = "overlay" // copy-on-write over Source
	ModeBind    Mode = "bind"    // Source itself, read-write
	ModeClone   Mode = "clone"   // a git repository, cloned
	ModeVolume  Mode = "volume"  // a named persistent directory
	ModeNone    Mode = "none"    // an empty directory in the upper layer
)

// NetworkMode says which network a sandbox sees.
type NetworkMode string

// The network modes. Veth is known by name and unsupported.
const (
	NetworkNone NetworkMode = "none" // loopback only
	NetworkHost NetworkMode = "host" // the host's own
	NetworkVeth NetworkMode = "veth" // user-space NAT
)

// Defaults that apply when a Spec leaves the field empty.
const (
	DefaultImage     = "host"
	DefaultSeccomp   = "default"
	DefaultUser      = "root"
	DefaultMountPath = "/workspace"
	RepoPath         = "/repo"
	DefaultPIDs      = 1024
)

// Spec is everything that decides how a sandbox is made. It is stored with the
// record, so that `start` makes the same sandbox again.
type Spec struct {
	Name      string            `json:"name"`
	Image     string            `json:"image"`
	Workspace Workspace         `json:"workspace"`
	Env       map[string]string `json:"env,omitempty"`
	Network   NetworkMode       `json:"network"`
	Limits    Limits            `json:"limits"`
	Security  Security          `json:"security"`
	Agent     Agent             `json:"agent"`
	Session   Session           `json:"session,omitzero"`
	Driver    string            `json:"driver,omitempty"`
	Upper     string            `json:"upper,omitempty"` // disk | tmpfs
	Owner     string            `json:"owner,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Metadata  map[string]any    `json:"metadata,omitempty"`
	Review    Review            `json:"review,omitzero"`
	Mounts    []Mount           `json:"mounts,omitempty"`
	Persist   []string          `json:"persist,omitempty"` // below the home, kept for the project
	Cache     []string          `json:"cache,omitempty"`   // shared, copy-on-write
	Reserve   []string          `json:"reserve,omitempty"` // of the workspace's source, for nobody else

	Build *Build `json:"build,omitempty"` // the base of Image that this makes; nil or empty: Image itself

	// ImageConfig is set when the sandbox is made; nil for the image host.
	ImageConfig *ImageConfig `json:"imageConfig,omitempty"`
}

// ImageConfig is what an image was when a sandbox was made from it: a reference
// may stand for another image later.
type ImageConfig struct {
	Digest     string   `json:"digest"`
	Env        []string `json:"env,omitempty"`
	WorkingDir string   `json:"workingDir,omitempty"`
	Base       bool     `json:"base,omitempty"`     // it was built here
	OverHost   bool     `json:"overHost,omitempty"` // its layers, if it has any, lie over the host's system

	// Makes is the layer that a sandbox of a build is there for, and Failed says
	// that its step failed: then it is kept for whoever wants to look.
	Makes  string `json:"makes,omitempty"`
	Failed bool   `json:"failed,omitempty"`

	// InsteadOf is the user the image names where programs run as root instead,
	// because there is one id only.
	InsteadOf string `json:"insteadOf,omitempty"`
}

// Workspace is the project's files as the sandbox sees them.
type Workspace struct {
	Source string `json:"source,omitempty"` // absolute host directory, or the name of a volume
	Mode   Mode   `json:"mode"`
	Path   string `json:"path"`           // absolute, inside
	Repo   bool   `json:"repo,omitempty"` // overlay: the original, read-only, at /repo
}

// Limits are resource limits; zero means none. Asked names the ones the user
// set: those fail closed where the host cannot enforce them, while a built-in
// default only degrades.
type Limits struct {
	CPU         float64       `json:"cpu,omitempty"`
	MemoryBytes int64         `json:"memoryBytes,omitempty"`
	PIDs        int64         `json:"pids,omitempty"`
	DiskBytes   int64         `json:"diskBytes,omitempty"`
	ExecTimeout time.Duration `json:"execTimeout,omitempty"`
	Asked       []string      `json:"asked,omitempty"`
}

// Security chooses fences. A fence named in Optional may be missing; then the
// sandbox is degraded instead of refused.
type Security struct {
	Seccomp      string   `json:"seccomp"`
	ReadonlyRoot bool     `json:"readonlyRoot,omitempty"`
	Optional     []string `json:"optional,omitempty"`
}

// Agent is the program of terminal 0 and the user everything runs as.
type Agent struct {
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	User    string   `json:"user"`
}
