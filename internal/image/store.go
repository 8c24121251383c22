package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/coop-dev/coop/internal/image/unpack"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Options are what a Store is made of.
type Options struct {
	Home string // COOP_HOME
	IDs  IDs
	Log  *slog.Logger

	// InUse names the sandboxes of each image, by digest. It must not call the
	// store.
	InUse func(context.Context) (map[string][]string, error)

	Limits    Limits
	Transport Transport
}

// IDs says which ids this process has. Layers are unpacked differently for
// each, so layers of one kind are no use to the others.
type IDs string

// The kinds of ids.
const (
	RootIDs IDs = "root"
	ManyIDs IDs = "many"
	OneID   IDs = "one"
)

// Limits bound an image.
type Limits struct {
	Layers        int
	ManifestBytes int64
	ConfigBytes   int64
	BlobBytes     int64 // one blob
	ImageBytes    int64 // all blobs
	Layer         unpack.Limits
}

// DefaultLimits let every honest image through. The kernel stacks 500 layers.
func DefaultLimits() Limits {
	return Limits{
		Layers: 500, ManifestBytes: 4 << 20, ConfigBytes: 8 << 20,
		BlobBytes: 32 << 30, ImageBytes: 128 << 30, Layer: unpack.DefaultLimits(),
	}
}

// Store is all images of one daemon.
type Store struct {
	Options
	locks locks

	mu     sync.Mutex
	images map[string]*Image // by digest
	refs   map[string]string // canonical reference → digest
	layers map[string]*layer // by hex diffID
	pins   map[string]int    // by digest or hex diffID: somebody is about to use it

	// damaged says that a file of images/ could not be read. Which layers it
	// needs nobody knows, so none is removed for want of an image.
	damaged bool
}

// New has no side effects.
func New(o Options) *Store {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.InUse == nil {
		o.InUse = func(context.Context) (map[string][]string, error) { return nil, nil }
	}
	return &Store{
		Options: o, images: map[string]*Image{}, refs: map[string]string{},
		layers: map[string]*layer{}, pins: map[string]int{},
	}
}

func (s *Store) manifestFile(digest string) string {
	return filepath.Join(s.Home, "images", "manifests", hexOf(digest)+".json")
}

func (s *Store) refFile(ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return filepath.Join(s.Home, "images", "refs", hex.EncodeToString(sum[:16])+".json")
}

func hexOf(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

// refRecord is a file of images/refs.
type refRecord struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
}

// Open reads what is there and removes what an interrupted pull left.
func (s *Store) Open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openLayers(); err != nil {
		return err
	}
	bad, err := readAll(filepath.Join(s.Home, "images", "manifests"), func(name string, img *Image) {
		if hexOf(img.Digest)+".json" == name {
			s.images[img.Digest] = img
		}
	})
	if err != nil {
		return err
	}
	if s.damaged = len(bad) > 0; s.damaged {
		s.Log.Error("images cannot be read", "files", bad)
	}
	var old Removed
	s.sweepLayers(keepPart, &old)
	s.bury(old.dead...)
	_, err = readAll(filepath.Join(s.Home, "images", "refs"), func(_ string, r *refRecord) {
		if s.images[r.Digest] != nil {
			s.refs[r.Reference] = r.Digest
		}
	})
	return err
}

// readAll decodes every .json file of a directory and names those it cannot.
func readAll[T any](dir string, each func(name string, v *T)) (bad []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		v := new(T)
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || json.Unmarshal(b, v) != nil {
			bad = append(bad, e.Name())
			continue
		}
		each(e.Name(), v)
	}
	return bad, err
}

// List gives all images, the newest first.
func (s *Store) List(ctx context.Context) ([]Image, error) {
	used, err := s.InUse(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Image, 0, len(s.images))
	for _, img := range s.images {
		list = append(list, s.view(img, used))
	}
	slices.SortFunc(list, func(a, b Image) int {
		if c := b.Fetched.Compare(a.Fetched); c != 0 {
			return c
		}
		return strings.Compare(a.Digest, b.Digest)
	})
	return list, nil
}

// Get finds one by reference, digest or a unique beginning of it.
func (s *Store) Get(ctx context.Context, ref string) (Image, error) {
	used, err := s.InUse(ctx)
	if err != nil {
		return Image{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	img, err := s.find(ref)
	if err != nil {
		return Image{}, err
	}
	return s.view(img, used), nil
}

// view adds what is not in an image's file. The lock is held.
func (s *Store) view(img *Image, used map[string][]string) Image {
	v := *img
	v.UsedBy = used[img.Digest]
	for ref, digest := range s.refs {
		if digest == img.Digest {
			v.References = append(v.References, ref)
		}
	}
	slices.Sort(v.References)
	seen := map[string]bool{}
	for _, l := range img.Layers {
		if have := s.layers[hexOf(l.DiffID)]; have != nil && !seen[l.DiffID] {
			v.DiskBytes += have.DiskBytes
		}
		seen[l.DiffID] = true
	}
	return v
}

// minDigest is how many digits of a digest at least name an image.
const minDigest = 6

// find looks an image up. The lock is held.
func (s *Store) find(ref string) (*Image, error) {
	if r, err := ParseReference(ref); err == nil {
		if img := s.images[s.refs[r.text]]; img != nil {
			return img, nil
		}
		if r.remote != nil && strings.HasPrefix(r.remote.Identifier(), "sha256:") {
			// A digest names the same image in whatever way it came.
			if img := s.images[r.remote.Identifier()]; img != nil {
				return img, nil
			}
		}
	}
	if img, err := s.byDigest(hexOf(ref)); img != nil || err != nil {
		return img, err
	}
	return nil, missing(ref)
}

func (s *Store) byDigest(start string) (found *Image, err error) {
	if len(start) < minDigest || strings.Trim(start, "0123456789abcdef") != "" {
		return nil, nil
	}
	for digest, img := range s.images {
		if !strings.HasPrefix(hexOf(digest), start) {
			continue
		}
		if found != nil {
			return nil, sandbox.Errorf(sandbox.Conflict, "several images begin with %s", start).WithHint("use more digits")
		}
		found = img
	}
	return found, nil
}

func missing(ref string) error {
	return sandbox.Errorf(sandbox.NotFound, "image %.256s is not here", ref).
		WithHint("coop image pull %.256s", ref).WithDetail("image", ref)
}

// NamesOf are the ways to write an image's name, for patterns that name images.
// One that is meant by its digest has the names of its references: the digest
// itself, taken for a name, would fit any pattern.
func (s *Store) NamesOf(ref string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	img, err := s.find(ref)
	if r, rerr := ParseReference(ref); err != nil || rerr == nil && s.refs[r.text] == img.Digest {
		return Names(ref)
	}
	var list []string
	for _, r := range s.view(img, nil).References {
		list = append(list, Names(r)...)
	}
	return list
}

// Use finds the image of a new sandbox and keeps it from being removed until
// release is called: then the sandbox's record says that it is in use.
func (s *Store) Use(ref string) (img Image, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.find(ref)
	if err != nil {
		return Image{}, nil, err
	}
	if err := s.complete(found); err != nil {
		return Image{}, nil, missing(ref)
	}
	s.pins[found.Digest]++
	return s.view(found, nil), sync.OnceFunc(func() { s.unpin(found.Digest) }), nil
}

func (s *Store) unpin(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		if s.pins[k]--; s.pins[k] <= 0 {
			delete(s.pins, k)
		}
	}
}

// complete reports whether every layer of an image can be used by this process.
// The lock is held.
func (s *Store) complete(img *Image) error {
	for _, l := range img.Layers {
		if s.layers[hexOf(l.DiffID)] == nil {
			return missing(append(s.view(img, nil).References, img.Digest)[0])
		}
	}
	return nil
}

// LayerNames gives the directories of an image's layers below LayerDir, the
// topmost first as overlayfs wants them. Overlayfs refuses a layer twice, and
// only its upper place would show.
func (s *Store) LayerNames(img Image) []string {
	var names []string
	for _, l := range slices.Backward(img.Layers) {
		if h := hexOf(l.DiffID); !slices.Contains(names, h) {
			names = append(names, h)
		}
	}
	return names
}

// LayerDir holds all layers.
func (s *Store) LayerDir() string { return filepath.Join(s.Home, "layers", "sha256") }

// ByDigest gives an image that a sandbox was made from.
func (s *Store) ByDigest(digest string) (Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	img := s.images[digest]
	if img == nil {
		return Image{}, missing(digest)
	}
	if err := s.complete(img); err != nil {
		return Image{}, err
	}
	return *img, nil
}
