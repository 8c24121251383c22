package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/coop-dev/coop/internal/sandbox"
)

// registry is one repository of a registry, signed in.
type registry struct {
	s      *Store
	repo   name.Repository
	client *http.Client
	close  func()
}

// dial signs in. The library negotiates; manifests and blobs we fetch
// ourselves, because it can neither bound nor resume.
func (s *Store) dial(ctx context.Context, ref name.Reference, plainHTTP bool) (*registry, error) {
	repo := ref.Context()
	rt, closeIdle := s.Transport.roundTripper(plainHTTP)
	auth, err := authn.Resolve(ctx, s.Transport.keychain(), repo)
	if err != nil {
		return nil, sandbox.Errorf(sandbox.Unavailable, "credentials for %s: %w", repo.RegistryStr(), err).
			WithHint("they come from ~/.docker/config.json or containers/auth.json and the helpers named there")
	}
	t, err := transport.NewWithContext(ctx, repo.Registry, auth, rt, []string{repo.Scope(transport.PullScope)})
	if err != nil {
		closeIdle()
		return nil, explain(ref, err)
	}
	return &registry{s: s, repo: repo, client: &http.Client{Transport: t, CheckRedirect: follow}, close: closeIdle}, nil
}

func (r *registry) url(kind, what string) string {
	u := url.URL{
		Scheme: r.repo.Registry.Scheme(), Host: r.repo.RegistryStr(),
		Path: "/v2/" + r.repo.RepositoryStr() + "/" + kind + "/" + what,
	}
	return u.String()
}

// get asks for a part of the repository; the caller closes the body.
func (r *registry) get(ctx context.Context, kind, what string, header http.Header, ok ...int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url(kind, what), nil)
	if err != nil {
		return nil, err
	}
	req.Header = header
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := transport.CheckError(resp, ok...); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// document gets something small, whole.
func (r *registry) document(ctx context.Context, kind, what string, header http.Header, most int64) (body []byte, mediaType string, err error) {
	ctx, alive, cancel := stallable(ctx, r.s.Transport.stall())
	defer cancel(nil)
	resp, err := r.get(ctx, kind, what, header, http.StatusOK)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	alive()
	b, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, "", err
	}
	if int64(len(b)) > most {
		return nil, "", sandbox.Errorf(sandbox.TooLarge, "a manifest or configuration of the image is larger than %d bytes", most)
	}
	return b, resp.Header.Get("Content-Type"), nil
}

// resolve finds the manifest of this machine's image.
func (r *registry) resolve(ctx context.Context, ref name.Reference) (plan, error) {
	accept := http.Header{"Accept": {strings.Join([]string{
		string(types.OCIImageIndex), string(types.DockerManifestList), string(types.OCIManifestSchema1), string(types.DockerManifestSchema2),
	}, ", ")}}
	get := func(what string) ([]byte, string, error) {
		raw, kind, err := r.document(ctx, "manifests", what, accept, r.s.Limits.ManifestBytes)
		if err != nil {
			err = explain(ref, err)
		}
		return raw, kind, err
	}
	want := ""
	if d, ok := ref.(name.Digest); ok {
		want = d.DigestStr()
	}
	raw, kind, err := get(ref.Identifier())
	if err != nil {
		return plan{}, err
	}
	if want != "" && digestOf(raw) != want {
		return plan{}, damaged("manifest", want, digestOf(raw))
	}
	return r.s.narrow(raw, kind, get)
}

func damaged(what, want, got string) error {
	return sandbox.Errorf(sandbox.Invalid, "the registry sent a wrong %s: its digest is %s, not %s", what, got, want).
		WithHint("the registry, or something on the way to it, is damaged or lies; nothing was kept")
}

// small implements source.
func (r *registry) small(ctx context.Context, b blobRef) ([]byte, error) {
	raw, _, err := r.document(ctx, "blobs", b.Digest, http.Header{}, b.Size)
	if err != nil {
		return nil, err
	}
	if got := digestOf(raw); got != b.Digest {
		return nil, damaged("configuration", b.Digest, got)
	}
	return raw, nil
}

// explain turns what a registry answers into what a person needs to know.
func explain(ref name.Reference, err error) error {
	var known *sandbox.Error
	var answer *transport.Error
	host := ref.Context().RegistryStr()
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return sandbox.Errorf(sandbox.Unavailable, "the disk is full: %w", err).
			WithHint("free some space where COOP_HOME is: coop image prune removes images nobody uses")
	case !errors.As(err, &answer):
		return sandbox.Errorf(sandbox.Unavailable, "registry %s: %w", host, err).
			WithHint("is the name right, and can this machine reach it?")
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return sandbox.Errorf(sandbox.Denied, "registry %s refuses %s: %w", host, canonical(ref), trimmed(err)).
			WithHint("the name may be wrong, or it is private: sign in with docker login or podman login")
	case http.StatusNotFound:
		return sandbox.Errorf(sandbox.NotFound, "there is no image %s: %w", canonical(ref), trimmed(err)).
			WithHint("check its name and tag")
	case http.StatusTooManyRequests:
		return sandbox.Errorf(sandbox.Exhausted, "registry %s wants fewer requests: %w", host, trimmed(err)).
			WithHint("wait, or sign in with docker login")
	}
	return sandbox.Errorf(sandbox.Unavailable, "registry %s: %w", host, trimmed(err))
}

// trimmed bounds a registry's own words.
func trimmed(err error) error {
	if s := err.Error(); len(s) > 300 {
		return fmt.Errorf("%s…", strings.ToValidUTF8(s[:300], ""))
	}
	return err
}
