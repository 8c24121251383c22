package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coop-dev/coop/internal/image/unpack"
	"github.com/coop-dev/coop/internal/linux/layerdir"
	"github.com/coop-dev/coop/internal/linux/rmtree"
	"github.com/coop-dev/coop/internal/sandbox"
)

// layer is what is known of an unpacked layer: its .json.
type layer struct {
	IDs       IDs       `json:"ids"`
	DiskBytes int64     `json:"diskBytes"`
	Made      time.Time `json:"made"`
	Notes     []string  `json:"notes,omitempty"`
	Built     *Built    `json:"built,omitempty"` // a step of a base made it

	fresh bool // complete, but perhaps not on disk yet
}

func (s *Store) tmp() string { return filepath.Join(s.Home, "layers", "tmp") }

func (s *Store) layerPath(hex string) string { return filepath.Join(s.LayerDir(), hex) }

// keepPart is how long the beginning of a blob, or a layer that no image has
// yet, waits for somebody to try again.
const keepPart = 7 * 24 * time.Hour

// openLayers finds the layers that are whole and removes everything else. The
// lock is held.
func (s *Store) openLayers() error {
	for _, dir := range []string{s.LayerDir(), s.tmp(), filepath.Join(s.Home, "images", "manifests"), filepath.Join(s.Home, "images", "refs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	s.sweepTmp()
	_, err := readAll(s.LayerDir(), func(name string, l *layer) {
		if l.IDs == s.IDs {
			s.layers[strings.TrimSuffix(name, ".json")] = l
		}
	})
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(s.LayerDir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		hex := strings.TrimSuffix(e.Name(), ".json")
		_, serr := os.Stat(s.layerPath(hex + ".json"))
		_, derr := os.Stat(s.layerPath(hex))
		if errors.Is(serr, fs.ErrNotExist) || errors.Is(derr, fs.ErrNotExist) {
			delete(s.layers, hex)
			s.bury(s.retire(hex))
		}
	}
	return nil
}

// sweepTmp removes what nobody can go on with.
func (s *Store) sweepTmp() {
	entries, err := os.ReadDir(s.tmp())
	if err != nil {
		return // there is nothing
	}
	for _, e := range entries {
		st, err := e.Info()
		if err == nil && strings.HasSuffix(e.Name(), partSuffix) && time.Since(st.ModTime()) < keepPart {
			continue
		}
		if err := rmtree.Remove(filepath.Join(s.tmp(), e.Name())); err != nil {
			s.Log.Warn("remove leftover", "path", e.Name(), "err", err)
		}
	}
}

// retire takes a layer out of sight: its .json first, so that half a layer is
// none. What it gives is to be removed, which may take long.
func (s *Store) retire(hex string) (dead string) {
	_ = os.Remove(s.layerPath(hex + ".json")) // not there when the layer was never whole
	dead = filepath.Join(s.tmp(), fmt.Sprintf("dead-%s-%d", hex, time.Now().UnixNano()))
	err := os.Rename(s.layerPath(hex), dead)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Log.Warn("retire layer", "path", hex, "err", err)
	}
	return dead
}

// bury removes retired layers. What it cannot, the next start does.
func (s *Store) bury(dead ...string) {
	for _, d := range dead {
		if err := rmtree.Remove(d); err != nil {
			s.Log.Warn("remove layer", "path", d, "err", err)
		}
	}
}

// has reports whether a layer can be used.
func (s *Store) has(hex string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.layers[hex] != nil
}

// unpackLayer makes a layer from a blob: under a temporary name, checked, then
// renamed. The layer's lock is held.
func (s *Store) unpackLayer(ctx context.Context, hex string, blob io.Reader, size int64) error {
	dir, err := os.MkdirTemp(s.tmp(), "unpack-")
	if err != nil {
		return err
	}
	defer rmtree.Remove(dir) //nolint:errcheck // at worst the next start removes it
	r, err := unpack.Layer(ctx, dir, blob, size, unpack.Options{
		UserXattr: s.IDs != RootIDs, SingleID: s.IDs == OneID, Limits: s.Limits.Layer,
	})
	if err != nil {
		return err
	}
	if r.DiffID != hex {
		return sandbox.Errorf(sandbox.Invalid, "the layer is not the one the image names: its digest is sha256:%s, not sha256:%s", r.DiffID, hex).
			WithHint("the registry or the archive is damaged; nothing of it was kept")
	}
	s.bury(s.retire(hex)) // one for other ids, perhaps
	if err := os.Rename(dir, s.layerPath(hex)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layers[hex] = &layer{IDs: s.IDs, DiskBytes: r.DiskBytes, Made: time.Now().UTC(), Notes: notes(r), fresh: true}
	return nil
}

// commit makes layers last: everything on disk, then their .json. A power cut
// before that leaves directories without one, which the next start removes.
func (s *Store) commit(hexes []string) error {
	var fresh []string
	s.mu.Lock()
	for _, h := range hexes {
		if l := s.layers[h]; l != nil && l.fresh {
			fresh = append(fresh, h)
		}
	}
	s.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	if err := syncFS(s.LayerDir()); err != nil {
		return err
	}
	for _, h := range fresh {
		if err := s.commitOne(h); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) commitOne(hex string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.layers[hex]
	if l == nil || !l.fresh {
		return nil // another pull was faster
	}
	if err := writeJSON(s.layerPath(hex+".json"), l); err != nil {
		return err
	}
	l.fresh = false
	return nil
}

func syncFS(dir string) error {
	t, err := layerdir.Open(dir)
	if err != nil {
		return err
	}
	defer t.Close()
	return t.SyncFS()
}

// writeJSON replaces a file as a whole.
func writeJSON(file string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone when it was renamed
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
