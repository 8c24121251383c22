package image

import (
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Base tells how an image was built here.
type Base struct {
	Config string   `json:"config"`           // key of the configuration it is the base of
	Image  string   `json:"image"`            // the reference it was built from
	Parent string   `json:"parent,omitempty"` // digest of that image; none for the host's system
	Steps  []string `json:"steps"`
}

// OverHost reports whether the layers lie over the host's system: then each has
// a directory for each tree of it.
func (b *Base) OverHost() bool { return b != nil && b.Image == sandbox.DefaultImage }

// Built says which step a layer is, and over which layer it was made.
type Built struct {
	Step   string `json:"step"`
	Parent string `json:"parent,omitempty"`
}

// Exclusive lets one at a time work on something; the others wait.
func (s *Store) Exclusive(ctx context.Context, key string) (release func(), err error) {
	return s.locks.lock(ctx, "build "+key)
}

// Scratch makes a directory next to the layers. What is left in it is removed
// by the next start.
func (s *Store) Scratch() (string, error) { return os.MkdirTemp(s.tmp(), "build-") }

// FindBuilt gives the newest layer of a step over another layer. It is kept from
// being removed until release is called.
func (s *Store) FindBuilt(step, parent string) (hex string, release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var newest time.Time
	for h, l := range s.layers {
		if b := l.Built; b != nil && b.Step == step && b.Parent == parent && !l.fresh && l.Made.After(newest) {
			hex, newest = h, l.Made
		}
	}
	if hex == "" {
		return "", nil, false
	}
	return hex, s.pin(hex), true
}

// pin keeps something until release is called. The lock is held.
func (s *Store) pin(key string) (release func()) {
	s.pins[key]++
	return sync.OnceFunc(func() { s.unpin(key) })
}

// AddBuilt takes a directory of Scratch over as a layer: on disk first, then
// renamed, then written down, so that a crash leaves a whole layer or none.
func (s *Store) AddBuilt(hex string, b Built, dir string, bytes int64) (release func(), err error) {
	if err := syncFS(dir); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.layers[hex] != nil {
		return nil, sandbox.Errorf(sandbox.Conflict, "layer %.12s is there already", hex)
	}
	dead := s.retire(hex) // one for other ids, perhaps
	defer s.bury(dead)
	if err := os.Rename(dir, s.layerPath(hex)); err != nil {
		return nil, err
	}
	l := &layer{IDs: s.IDs, DiskBytes: bytes, Made: time.Now().UTC(), Built: &b}
	if err := writeJSON(s.layerPath(hex+".json"), l); err != nil {
		return nil, err
	}
	s.layers[hex] = l
	return s.pin(hex), nil
}

// EnterBase writes a base down. Without a reference it stays only as long as it
// is in use; release ends the caller's own use.
func (s *Store) EnterBase(img Image, ref string) (Image, func(), error) {
	if ref != "" {
		r, err := ParseReference(ref)
		if err != nil {
			return Image{}, nil, err
		}
		ref = r.text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.complete(&img); err != nil {
		return Image{}, nil, err
	}
	if known := s.images[img.Digest]; known != nil {
		img = *known
	} else if err := writeJSON(s.manifestFile(img.Digest), &img); err != nil {
		return Image{}, nil, err
	}
	s.images[img.Digest] = &img
	if ref != "" && s.refs[ref] != img.Digest {
		if err := writeJSON(s.refFile(ref), refRecord{ref, img.Digest}); err != nil {
			return Image{}, nil, err
		}
		s.refs[ref] = img.Digest
	}
	return s.view(&img, nil), s.pin(img.Digest), nil
}

// UseBase finds the newest base of a configuration and keeps it until release.
func (s *Store) UseBase(config string) (img Image, release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *Image
	for _, i := range s.images {
		if i.Base == nil || i.Base.Config != config || s.complete(i) != nil {
			continue
		}
		if found == nil || i.Fetched.After(found.Fetched) {
			found = i
		}
	}
	if found == nil {
		return Image{}, nil, false
	}
	return s.view(found, nil), s.pin(found.Digest), true
}

// DropUnused forgets bases that nobody named and nobody uses: the states between
// the steps of a build. Their layers stay for the next build.
func (s *Store) DropUnused(ctx context.Context, digests []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	used, err := s.InUse(ctx)
	if err != nil {
		return err
	}
	for _, d := range digests {
		img := s.images[d]
		if img == nil || img.Base == nil || len(used[d]) > 0 || s.pins[d] > 0 || s.hasName(d) {
			continue
		}
		if err := os.Remove(s.manifestFile(d)); err != nil {
			return err
		}
		delete(s.images, d)
	}
	return nil
}

func (s *Store) hasName(digest string) bool {
	for _, d := range s.refs {
		if d == digest {
			return true
		}
	}
	return false
}

// BaseOver makes the record of a base: an image with more layers. parent is the
// zero Image for the host's system.
func BaseOver(parent Image, b Base, layers []string) Image {
	now := time.Now().UTC()
	img := Image{
		Digest: "sha256:" + layers[len(layers)-1], Platform: "linux/" + runtime.GOARCH, Created: now, Fetched: now,
		Config: parent.Config, Notes: parent.Notes, Raw: parent.Raw, Base: &b,
		Layers: slices.Clone(parent.Layers),
	}
	for _, l := range layers {
		img.Layers = append(img.Layers, Layer{DiffID: "sha256:" + l, Digest: "sha256:" + l})
	}
	return img
}
