package image

import (
	"encoding/json"
	"time"
)

// Image is one image that is here, whole.
type Image struct {
	Digest    string    `json:"digest"` // of its manifest: "sha256:…"
	MediaType string    `json:"mediaType,omitempty"`
	Platform  string    `json:"platform"`
	Created   time.Time `json:"created"`
	Fetched   time.Time `json:"fetched"`
	Config    Config    `json:"config"`
	Layers    []Layer   `json:"layers"` // the lowest first
	Notes     []string  `json:"notes,omitempty"`

	Base *Base `json:"base,omitempty"` // it was built here

	// Raw is the image's own configuration, as it came.
	Raw json.RawMessage `json:"raw,omitempty"`

	References []string `json:"-"` // from images/refs
	DiskBytes  int64    `json:"-"` // of its layers
	UsedBy     []string `json:"-"` // names of sandboxes
}

// Config is what an image says about programs run from it.
type Config struct {
	Env        []string          `json:"env,omitempty"`
	User       string            `json:"user,omitempty"`
	WorkingDir string            `json:"workingDir,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Cmd        []string          `json:"cmd,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
}

// Command is what runs when nobody says what.
func (c Config) Command() []string {
	return append(append([]string(nil), c.Entrypoint...), c.Cmd...)
}

// Layer is one layer of an image.
type Layer struct {
	DiffID string `json:"diffId"` // "sha256:…" of the uncompressed archive
	Digest string `json:"digest"` // of the blob
	Size   int64  `json:"size"`   // of the blob
}

// Progress is one thing that happened during a pull or an import.
type Progress struct {
	Layer  string // digest of the blob; empty: about the whole
	Status Status
	Done   int64
	Total  int64
}

// Status says what becomes of a layer at the moment.
type Status string

// The states of a layer, in order. Waiting, Here and Done end or begin without
// numbers.
const (
	Resolving   Status = "resolving"
	Waiting     Status = "waiting"
	Here        Status = "here" // it is there already
	Downloading Status = "downloading"
	Unpacking   Status = "unpacking"
	Done        Status = "done"
)
