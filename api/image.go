package api

import (
	"encoding/json"
	"time"
)

// Image is one image that is here, whole. Digest, that of its manifest, names it
// for ever; references may move to another image.
type Image struct {
	Digest     string       `json:"digest"`
	References []string     `json:"references"`
	Platform   string       `json:"platform"`
	MediaType  string       `json:"mediaType,omitempty"`
	CreatedAt  time.Time    `json:"createdAt"` // when it was built
	FetchedAt  time.Time    `json:"fetchedAt"` // when it was pulled or imported
	Config     ImageConfig  `json:"config"`
	Layers     []ImageLayer `json:"layers"` // the lowest first
	SizeBytes  int64        `json:"sizeBytes"`
	DiskBytes  int64        `json:"diskBytes"` // of its layers here, shared ones included
	Sandboxes  []string     `json:"sandboxes"` // who uses it
	Notes      []string     `json:"notes,omitempty"`
	Role       string       `json:"role,omitempty"` // "base": built here
	Base       *ImageBase   `json:"base,omitempty"`

	// Raw is the image's own configuration as it came; only from inspect.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// ImageConfig is what an image says about programs run from it.
type ImageConfig struct {
	Env        []string          `json:"env,omitempty"`
	User       string            `json:"user,omitempty"`
	WorkingDir string            `json:"workingDir,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Cmd        []string          `json:"cmd,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
}

// ImageLayer is one layer: DiffID is the digest of what was unpacked, Digest and
// SizeBytes are those of what a registry sends.
type ImageLayer struct {
	DiffID    string `json:"diffId"`
	Digest    string `json:"digest"`
	SizeBytes int64  `json:"sizeBytes"`
}

// PullRequest asks for an image of a registry. PlainHTTP allows a registry on
// another machine to be without TLS.
type PullRequest struct {
	Reference string `json:"reference"`
	PlainHTTP bool   `json:"plainHttp,omitempty"`
}

// ImportRequest asks for an image that lies on the daemon's machine: "oci:DIR",
// or "tar:FILE" for an OCI archive, a Docker archive or a root filesystem, with
// absolute paths. Without a Reference the archive's own name or Source is it.
type ImportRequest struct {
	Source    string `json:"source"`
	Reference string `json:"reference,omitempty"`
}

// ImageEvent is one line of the answer to a pull or an import. Status is
// resolving, waiting, here, downloading, unpacking or done for a layer; the last
// line has either Image or Error.
type ImageEvent struct {
	Layer  string `json:"layer,omitempty"` // digest
	Status string `json:"status,omitempty"`
	Done   int64  `json:"done,omitempty"`
	Total  int64  `json:"total,omitempty"`
	Image  *Image `json:"image,omitempty"`
	Error  *Error `json:"error,omitempty"`
}

// ImagePruneRequest is the optional body of a prune. All removes also images
// that have a name but no sandbox.
type ImagePruneRequest struct {
	All bool `json:"all,omitempty"`
}

// ImagesRemoved is what a removal or a prune did.
type ImagesRemoved struct {
	References []string `json:"references"`
	Images     []string `json:"images"`
	Bytes      int64    `json:"bytes"`
}
