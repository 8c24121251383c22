package api

import "time"

// Volume is a named directory that outlives sandboxes: a volume, a workspace of
// mode volume, or what a project keeps.
type Volume struct {
	Name       string    `json:"name"`
	Path       string    `json:"path"` // on the daemon's host
	Bytes      int64     `json:"bytes"`
	Sandboxes  []string  `json:"sandboxes"` // names of those that use it, running or not
	ModifiedAt time.Time `json:"modifiedAt"`
}

// VolumeRequest makes a volume or a workspace. With Seed its content is a copy of
// that directory of the host; an empty volume gets what the image of its first
// sandbox has at the volume's target.
type VolumeRequest struct {
	Name string `json:"name"`
	Seed string `json:"seed,omitempty"`
}

// PruneRequest removes everything of a kind that no sandbox uses, running or
// stopped: volumes, workspaces, persist (what projects keep) or caches.
type PruneRequest struct {
	Kind   string `json:"kind"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// Pruned is what a prune removed; a cache has its path inside for a name.
type Pruned struct {
	Removed    []Volume `json:"removed"`
	FreedBytes int64    `json:"freedBytes"`
	DryRun     bool     `json:"dryRun"`
}

// FileEntry is one file of a list. A name that is not UTF-8 is shown with U+FFFD
// in place of the other bytes; then the field that ends in Base64 has it exactly.
type FileEntry struct {
	Path       string    `json:"path"`
	PathBase64 string    `json:"pathBase64,omitempty"`
	Type       string    `json:"type"` // file, directory, symlink, fifo, socket, device
	Mode       string    `json:"mode"` // octal permissions
	Size       int64     `json:"size"`
	UID        int64     `json:"uid"` // as a sandbox sees it
	GID        int64     `json:"gid"`
	ModifiedAt time.Time `json:"modifiedAt"`
	Target     string    `json:"target,omitempty"` // of a symlink
}

// FileList is a directory's content.
type FileList struct {
	Items     []FileEntry `json:"items"`
	Total     int         `json:"total"`
	Truncated bool        `json:"truncated"` // there are more
}

// MkdirRequest makes a directory; with Parents also those above it, and then one
// that is there is no error.
type MkdirRequest struct {
	Path    string `json:"path"`
	Parents bool   `json:"parents,omitempty"`
}

// RenameRequest moves a file or directory to a name that must be free.
type RenameRequest struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Cache is a shared package cache.
type Cache struct {
	Path       string   `json:"path"` // inside
	Generation int      `json:"generation"`
	Bytes      int64    `json:"bytes"`
	Sandboxes  []string `json:"sandboxes"`
}

// PromoteRequest makes what a sandbox has put into its caches part of the shared
// ones. Files the cache has under the same name stay, unless Replace.
type PromoteRequest struct {
	Sandbox string `json:"sandbox"`
	Replace bool   `json:"replace,omitempty"`
}

// Promoted is what became of one cache.
type Promoted struct {
	Path       string   `json:"path"`
	Generation int      `json:"generation"`
	Added      int      `json:"added"`
	Bytes      int64    `json:"bytes"`
	Kept       int      `json:"kept"`    // files that were there already and stay
	Refused    []string `json:"refused"` // links that lead out, devices, and names that promise another content
}

// DiskUsage is one line of what COOP_HOME holds.
type DiskUsage struct {
	Kind             string `json:"kind"`
	Count            int    `json:"count,omitempty"`
	Active           int    `json:"active,omitempty"` // in use
	Bytes            int64  `json:"bytes"`
	ReclaimableBytes int64  `json:"reclaimableBytes"`
	Command          string `json:"command,omitempty"` // what reclaims it
}

// DiskReport is the answer of GET /df: the lines add up to the total.
type DiskReport struct {
	Home       string      `json:"home"`
	Items      []DiskUsage `json:"items"`
	TotalBytes int64       `json:"totalBytes"`
}
