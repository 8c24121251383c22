package image

import (
	"context"
	"errors"
	"sync"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Few at a time: enough to fill a line, not enough to anger a registry; and
// unpacking keeps a processor busy.
const (
	fetchers  = 4
	unpackers = 2
)

// fetch brings everything of an image here and enters it under a reference.
func (s *Store) fetch(ctx context.Context, src source, p plan, ref string, report func(Progress)) (Image, error) {
	raw, err := src.small(ctx, p.config)
	if err != nil {
		return Image{}, err
	}
	img, err := s.describe(p, raw)
	if err != nil {
		return Image{}, err
	}
	pinned := s.pinLayers(img)
	defer s.unpin(pinned...)
	err = s.fetchLayers(ctx, src, img.Layers, report)
	// What is complete is kept also when the rest failed: the next try has less to do.
	if cerr := s.commit(pinned); err == nil {
		err = cerr
	}
	if err != nil {
		return Image{}, err
	}
	img.Notes = s.gatherNotes(img.Layers)
	return s.enter(img, ref)
}

// pinLayers keeps the layers from being removed while they have no image.
func (s *Store) pinLayers(img *Image) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for _, l := range img.Layers {
		keys = append(keys, hexOf(l.DiffID))
		s.pins[hexOf(l.DiffID)]++
	}
	return keys
}

// fetchLayers works on several at once. The first error ends all.
func (s *Store) fetchLayers(ctx context.Context, src source, layers []Layer, report func(Progress)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	report = serially(report)
	for _, l := range layers {
		report(Progress{Layer: l.Digest, Status: Waiting, Total: l.Size})
	}
	work := make(chan Layer)
	slots := make(chan struct{}, unpackers)
	var wg sync.WaitGroup
	for range min(fetchers, len(layers)) {
		wg.Go(func() {
			for l := range work {
				if err := s.fetchLayer(ctx, src, l, slots, report); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, l := range layers {
		select {
		case work <- l:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// serially lets one progress through at a time.
func serially(report func(Progress)) func(Progress) {
	var mu sync.Mutex
	return func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		report(p)
	}
}

// fetchLayer brings one layer here unless it is.
func (s *Store) fetchLayer(ctx context.Context, src source, l Layer, slots chan struct{}, report func(Progress)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hex := hexOf(l.DiffID)
	unlock, err := s.locks.lock(ctx, "layer "+hex)
	if err != nil {
		return err
	}
	defer unlock()
	tell := func(st Status, done int64) { report(Progress{Layer: l.Digest, Status: st, Done: done, Total: l.Size}) }
	if s.has(hex) {
		tell(Here, l.Size)
		return nil
	}
	b, err := src.blob(ctx, blobRef{l.Digest, l.Size}, func(n int64) { tell(Downloading, n) })
	if err != nil {
		return err
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	tell(Unpacking, l.Size)
	err = s.unpackLayer(ctx, hex, b, b.size)
	if err == nil && b.check != nil {
		err = b.check()
	}
	b.close(err == nil || hopeless(err))
	if err != nil {
		return wrapLayer(l, err)
	}
	tell(Done, l.Size)
	return nil
}

// hopeless reports whether a blob will be no better the next time.
func hopeless(err error) bool {
	c := sandbox.CodeOf(err)
	return c == sandbox.Invalid || c == sandbox.TooLarge || c == sandbox.Unsupported
}

// wrapLayer says which layer it was, and keeps code and hint.
func wrapLayer(l Layer, err error) error {
	var known *sandbox.Error
	if errors.As(err, &known) {
		return sandbox.Errorf(known.Code, "layer %.12s: %w", hexOf(l.Digest), err).WithHint("%s", known.Hint)
	}
	return err
}

// enter writes an image down and points the reference at it. Layers are on disk
// already.
func (s *Store) enter(img *Image, ref string) (Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.complete(img); err != nil {
		return Image{}, err
	}
	if err := writeJSON(s.manifestFile(img.Digest), img); err != nil {
		return Image{}, err
	}
	s.images[img.Digest] = img
	if err := writeJSON(s.refFile(ref), refRecord{ref, img.Digest}); err != nil {
		return Image{}, err
	}
	s.refs[ref] = img.Digest
	return s.view(img, nil), nil
}
