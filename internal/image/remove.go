package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Removed is what a removal did.
type Removed struct {
	References []string // that name nothing any more
	Images     []string // digests
	Bytes      int64    // of layers that are gone

	dead []string // to be removed without the lock
}

// Remove takes a reference away, or with a digest all references of an image.
// The image goes with its last reference, and its layers unless other images
// have them.
func (s *Store) Remove(ctx context.Context, ref string) (out Removed, err error) {
	defer func() { s.bury(out.dead...) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	used, err := s.inUse(ctx)
	if err != nil {
		return out, err
	}
	img, err := s.find(ref)
	if err != nil {
		return out, err
	}
	refs := s.named(img, ref)
	last := len(refs) == len(s.view(img, nil).References)
	if last && (len(used[img.Digest]) > 0 || s.pins[img.Digest] > 0) {
		return out, busy(ref, used[img.Digest])
	}
	for _, r := range refs {
		if err := s.dropRef(r); err != nil {
			return out, err
		}
		out.References = append(out.References, r)
	}
	if last {
		err = s.dropImage(img, &out)
	}
	return out, err
}

// inUse asks under the lock, which is held: a sandbox made meanwhile has either
// still pinned its image, or its record is there to be seen.
func (s *Store) inUse(ctx context.Context) (map[string][]string, error) { return s.InUse(ctx) }

// named gives the references a removal is about.
func (s *Store) named(img *Image, ref string) []string {
	if r, err := ParseReference(ref); err == nil && s.refs[r.text] == img.Digest {
		return []string{r.text}
	}
	return s.view(img, nil).References
}

func busy(ref string, names []string) error {
	return sandbox.Errorf(sandbox.Conflict, "image %.256s is in use by %s", ref, strings.Join(names[:min(len(names), 5)], ", ")).
		WithHint("remove these sandboxes first: coop rm").WithDetail("sandboxes", names)
}

func (s *Store) dropRef(ref string) error {
	if err := os.Remove(s.refFile(ref)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(s.refs, ref)
	return nil
}

// dropImage forgets an image and the layers nobody else has. The lock is held.
func (s *Store) dropImage(img *Image, out *Removed) error {
	if err := os.Remove(s.manifestFile(img.Digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(s.images, img.Digest)
	out.Images = append(out.Images, img.Digest)
	needed := s.needed()
	for _, l := range img.Layers {
		if hex := hexOf(l.DiffID); !needed[hex] {
			s.dropLayer(hex, out)
		}
	}
	return nil
}

// needed are the layers of all images and of pulls under way. The lock is held.
func (s *Store) needed() map[string]bool {
	all := map[string]bool{}
	for key := range s.pins {
		all[key] = true
	}
	for _, img := range s.images {
		for _, l := range img.Layers {
			all[hexOf(l.DiffID)] = true
		}
	}
	return all
}

func (s *Store) dropLayer(hex string, out *Removed) {
	l := s.layers[hex]
	if l == nil {
		return
	}
	out.Bytes += l.DiskBytes
	delete(s.layers, hex)
	out.dead = append(out.dead, s.retire(hex))
}

// Prune removes images without a reference, and with all also those no sandbox
// uses; layers no image has, and blobs half downloaded.
func (s *Store) Prune(ctx context.Context, all bool) (out Removed, err error) {
	defer func() { s.bury(out.dead...) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	used, err := s.inUse(ctx)
	if err != nil {
		return out, err
	}
	for digest, img := range s.images {
		refs := s.view(img, nil).References
		if len(used[digest]) > 0 || s.pins[digest] > 0 || len(refs) > 0 && !all {
			continue
		}
		for _, r := range refs {
			if err := s.dropRef(r); err != nil {
				return out, err
			}
			out.References = append(out.References, r)
		}
		if err := s.dropImage(img, &out); err != nil {
			return out, err
		}
	}
	s.sweepLayers(0, &out)
	out.Bytes += s.sweepParts()
	return out, nil
}

// sweepLayers removes layers that no image has and that are older than that.
func (s *Store) sweepLayers(age time.Duration, out *Removed) {
	if s.damaged {
		return
	}
	needed := s.needed()
	for hex, l := range s.layers {
		if !needed[hex] && time.Since(l.Made) >= age {
			s.dropLayer(hex, out)
		}
	}
}

// sweepParts removes beginnings of blobs that nobody is fetching.
func (s *Store) sweepParts() (bytes int64) {
	names, err := filepath.Glob(filepath.Join(s.tmp(), "*"+partSuffix))
	if err != nil {
		return 0
	}
	for _, name := range names {
		digest := "sha256:" + strings.TrimSuffix(filepath.Base(name), partSuffix)
		if s.locks.taken("blob " + digest) {
			continue
		}
		if st, err := os.Stat(name); err == nil && os.Remove(name) == nil {
			bytes += st.Size()
		}
	}
	return bytes
}

// LayerUsage counts layers, those that a sandbox uses, and the bytes that Prune
// would free if it removed every image that none uses.
func (s *Store) LayerUsage(ctx context.Context) (count, active int, reclaimable int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used, err := s.inUse(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	stay := map[string]bool{}
	for key := range s.pins {
		stay[key] = true
	}
	for digest, img := range s.images {
		if len(used[digest]) == 0 && s.pins[digest] == 0 {
			continue
		}
		for _, l := range img.Layers {
			stay[hexOf(l.DiffID)] = true
		}
	}
	for hex, l := range s.layers {
		if stay[hex] {
			active++
		} else {
			reclaimable += l.DiskBytes
		}
	}
	return len(s.layers), active, reclaimable, nil
}
