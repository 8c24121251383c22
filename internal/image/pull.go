package image

import (
	"context"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/coop-dev/coop/internal/sandbox"
)

// PullRequest asks for an image of a registry.
type PullRequest struct {
	Reference string
	PlainHTTP bool // without TLS, also over the network
}

// Pull fetches an image, or brings one up to date. report is called from one
// goroutine at a time.
func (s *Store) Pull(ctx context.Context, req PullRequest, report func(Progress)) (Image, error) {
	ref, err := ParseReference(req.Reference)
	if err != nil {
		return Image{}, err
	}
	if ref.remote == nil {
		return Image{}, sandbox.Errorf(sandbox.Invalid, "%s is in no registry", ref).
			WithHint("coop image import %s", ref)
	}
	if req.PlainHTTP {
		if ref.remote, err = name.ParseReference(req.Reference, name.Insecure); err != nil {
			return Image{}, badReference(req.Reference)
		}
	}
	report(Progress{Status: Resolving})
	r, err := s.dial(ctx, ref.remote, req.PlainHTTP)
	if err != nil {
		return Image{}, err
	}
	defer r.close()
	p, err := r.resolve(ctx, ref.remote)
	if err != nil {
		return Image{}, err
	}
	img, err := s.fetch(ctx, r, p, ref.text, report)
	if err != nil {
		return Image{}, explain(ref.remote, err)
	}
	s.Log.Info("image pulled", "image", ref.text, "digest", img.Digest, "layers", len(img.Layers))
	return img, nil
}
