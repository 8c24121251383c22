package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/coop-dev/coop/internal/sandbox"
)

// blobRef names one blob and what it should be like.
type blobRef struct {
	Digest string // "sha256:…"
	Size   int64
}

// plan is a manifest that was understood.
type plan struct {
	digest    string
	mediaType string
	config    blobRef
	layers    []blobRef // the lowest first
}

// digestOf is the name of some bytes.
func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// kindOf finds the media type: the one in the document where there is one. A
// registry's header is only believed for documents without.
func kindOf(raw []byte, header string) types.MediaType {
	var head struct {
		MediaType string            `json:"mediaType"`
		Manifests []json.RawMessage `json:"manifests"`
		Layers    []json.RawMessage `json:"layers"`
		FSLayers  []json.RawMessage `json:"fsLayers"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return ""
	}
	switch {
	case head.MediaType != "":
		return types.MediaType(head.MediaType)
	case head.Manifests != nil:
		return types.OCIImageIndex
	case head.Layers != nil:
		return types.OCIManifestSchema1
	case head.FSLayers != nil:
		return types.DockerManifestSchema1
	}
	return types.MediaType(header)
}

// maxNesting is how often an index may lead to another.
const maxNesting = 3

// narrow goes from an index to this machine's manifest. get fetches a manifest
// by digest.
func (s *Store) narrow(raw []byte, header string, get func(digest string) ([]byte, string, error)) (plan, error) {
	for range maxNesting {
		kind := kindOf(raw, header)
		switch {
		case kind == types.OCIManifestSchema1 || kind == types.DockerManifestSchema2:
			return s.parseManifest(raw, kind)
		case kind.IsSchema1():
			return plan{}, sandbox.Errorf(sandbox.Unsupported, "the image has a manifest of Docker schema 1").
				WithHint("push it again with a Docker of this decade")
		case !kind.IsIndex():
			return plan{}, sandbox.Errorf(sandbox.Unsupported, "it is no image but %.64q", kind)
		}
		d, err := choose(raw)
		if err != nil {
			return plan{}, err
		}
		b, err := s.blobRef(d, s.Limits.ManifestBytes)
		if err != nil {
			return plan{}, err
		}
		if raw, header, err = get(b.Digest); err != nil {
			return plan{}, err
		}
		if got := digestOf(raw); got != b.Digest {
			return plan{}, damaged("manifest", b.Digest, got)
		}
	}
	return plan{}, sandbox.Errorf(sandbox.Invalid, "the image's index leads to an index that leads to an index")
}

// parseManifest understands an image's manifest.
func (s *Store) parseManifest(raw []byte, kind types.MediaType) (plan, error) {
	p := plan{digest: digestOf(raw), mediaType: string(kind)}
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return p, sandbox.Errorf(sandbox.Invalid, "the image's manifest is damaged: %w", err)
	}
	if !slices.Contains([]types.MediaType{types.OCIConfigJSON, types.DockerConfigJSON, ""}, m.Config.MediaType) {
		return p, sandbox.Errorf(sandbox.Unsupported, "it is no image but %.64q", m.Config.MediaType)
	}
	if len(m.Layers) > s.Limits.Layers {
		return p, sandbox.Errorf(sandbox.TooLarge, "the image has %d layers, at most %d can be stacked", len(m.Layers), s.Limits.Layers)
	}
	if p.config, err = s.blobRef(m.Config, s.Limits.ConfigBytes); err != nil {
		return p, err
	}
	total := int64(0)
	for _, l := range m.Layers {
		if !layerType(l.MediaType) {
			return p, sandbox.Errorf(sandbox.Unsupported, "the image has a layer of kind %.64q", l.MediaType)
		}
		ref, err := s.blobRef(l, s.Limits.BlobBytes)
		if err != nil {
			return p, err
		}
		if total += ref.Size; total > s.Limits.ImageBytes {
			return p, sandbox.Errorf(sandbox.TooLarge, "the image is larger than %d GiB", s.Limits.ImageBytes>>30)
		}
		p.layers = append(p.layers, ref)
	}
	return p, nil
}

func layerType(t types.MediaType) bool {
	return t == "" || slices.Contains([]types.MediaType{
		types.OCILayer, types.OCILayerZStd, types.OCIUncompressedLayer,
		types.DockerLayer, types.DockerUncompressedLayer, "application/vnd.docker.image.rootfs.diff.tar.zstd",
	}, t)
}

// blobRef checks a descriptor.
func (s *Store) blobRef(d v1.Descriptor, most int64) (blobRef, error) {
	if d.Digest.Algorithm != "sha256" || !validHex(d.Digest.Hex) {
		return blobRef{}, sandbox.Errorf(sandbox.Unsupported, "the image uses digests of kind %.16q", d.Digest.Algorithm).
			WithHint("only sha256 is understood")
	}
	if d.Size < 0 || d.Size > most {
		return blobRef{}, sandbox.Errorf(sandbox.TooLarge, "a part of the image claims to be %d bytes large", d.Size)
	}
	return blobRef{d.Digest.String(), d.Size}, nil
}

func validHex(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// maxIndex bounds the choice of platforms.
const maxIndex = 1000

// choose picks this machine's image from an index.
func choose(raw []byte) (v1.Descriptor, error) {
	idx, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return v1.Descriptor{}, sandbox.Errorf(sandbox.Invalid, "the image's index is damaged: %w", err)
	}
	if len(idx.Manifests) > maxIndex {
		return v1.Descriptor{}, sandbox.Errorf(sandbox.TooLarge, "the index has %d images", len(idx.Manifests))
	}
	var others []string
	for _, d := range idx.Manifests {
		switch {
		case d.Platform == nil && len(idx.Manifests) == 1:
			return d, nil // a layout with one image need not say
		case d.Platform == nil:
			continue
		case d.Platform.OS == "linux" && fits(d.Platform.Architecture, d.Platform.Variant):
			return d, nil
		case d.Platform.OS != "unknown": // attestations
			others = append(others, fmt.Sprintf("%.16s/%.16s", d.Platform.OS, d.Platform.Architecture))
		}
	}
	return v1.Descriptor{}, sandbox.Errorf(sandbox.Unsupported, "the image is not there for linux/%s", runtime.GOARCH).
		WithHint("there is %s", strings.Join(others[:min(len(others), 10)], ", "))
}

// fits reports whether this machine runs an architecture. A newer variant of
// the same architecture may not run here.
func fits(arch, variant string) bool {
	if arch != runtime.GOARCH {
		return false
	}
	return variant == "" || runtime.GOARCH == "arm64" || runtime.GOARCH == "amd64" && variant == "v1" || runtime.GOARCH == "arm"
}

// maxConfig bounds what of an image's configuration goes into every sandbox.
const maxConfig = 1 << 20

func (c Config) size() int {
	n := len(c.User) + len(c.WorkingDir)
	for _, list := range [][]string{c.Env, c.Entrypoint, c.Cmd} {
		for _, s := range list {
			n += len(s) + 16
		}
	}
	for k, v := range c.Labels {
		n += len(k) + len(v)
	}
	return n
}

// describe makes the image's record from its configuration.
func (s *Store) describe(p plan, raw []byte) (*Image, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return nil, sandbox.Errorf(sandbox.Invalid, "the image's configuration is damaged: %w", err)
	}
	if len(c.RootFS.DiffIDs) != len(p.layers) {
		return nil, sandbox.Errorf(sandbox.Invalid, "the image has %d layers but names %d", len(p.layers), len(c.RootFS.DiffIDs))
	}
	if c.OS != "" && c.OS != "linux" || c.Architecture != "" && !fits(c.Architecture, "") {
		return nil, sandbox.Errorf(sandbox.Unsupported, "the image is for %.16s/%.16s, this machine is linux/%s", c.OS, c.Architecture, runtime.GOARCH)
	}
	img := &Image{
		Digest: p.digest, MediaType: p.mediaType, Platform: "linux/" + runtime.GOARCH,
		Created: c.Created.Time, Fetched: time.Now().UTC(), Raw: raw,
		Config: Config{
			Env: c.Config.Env, User: c.Config.User, WorkingDir: c.Config.WorkingDir,
			Entrypoint: c.Config.Entrypoint, Cmd: c.Config.Cmd, Labels: c.Config.Labels,
		},
	}
	if img.Config.size() > maxConfig {
		return nil, sandbox.Errorf(sandbox.TooLarge, "the image's environment, command and labels take more than %d bytes", maxConfig)
	}
	for i, l := range p.layers {
		d := c.RootFS.DiffIDs[i]
		if d.Algorithm != "sha256" || !validHex(d.Hex) {
			return nil, sandbox.Errorf(sandbox.Invalid, "layer %d has no sha256 digest", i)
		}
		img.Layers = append(img.Layers, Layer{DiffID: d.String(), Digest: l.Digest, Size: l.Size})
	}
	return img, nil
}
