package daemon

import (
	"context"
	"io"
	"slices"

	"github.com/coop-dev/coop/internal/config"
	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/sandbox"
)

// openImages finds the images that are here.
func (d *daemon) openImages(uids idmap.Map) error {
	ids := image.ManyIDs
	switch {
	case uids.Initial():
		ids = image.RootIDs
	case uids.Single():
		ids = image.OneID
	}
	d.images = image.New(image.Options{
		Home: d.options.Home, IDs: ids, Log: d.log,
		InUse: func(ctx context.Context) (map[string][]string, error) { return d.engine.ImagesInUse(ctx) },
	})
	return explainHome(d.options.Home, d.images.Open())
}

// images fetches what daemon.toml permits.
type images struct {
	*image.Store
	settings config.Daemon
}

// Pull fetches an allowed image.
func (i images) Pull(ctx context.Context, req image.PullRequest, report func(image.Progress)) (image.Image, error) {
	if err := imageAllowed(i.settings, req.Reference); err != nil {
		return image.Image{}, err
	}
	return i.Store.Pull(ctx, req, report)
}

// Import takes over an image under an allowed name. Without one the archive's
// own name would decide, so where not every image is allowed it must be given.
func (i images) Import(ctx context.Context, req image.ImportRequest, report func(image.Progress)) (image.Image, error) {
	if len(i.settings.AllowedImages) > 0 {
		if req.Reference == "" {
			req.Reference = req.Source
		}
		if err := imageAllowed(i.settings, req.Reference); err != nil {
			return image.Image{}, err
		}
	}
	return i.Store.Import(ctx, req, report)
}

// Upload is Import for a stream.
func (i images) Upload(ctx context.Context, archive io.Reader, ref string, report func(image.Progress)) (image.Image, error) {
	if len(i.settings.AllowedImages) > 0 {
		if err := imageAllowed(i.settings, ref); err != nil {
			return image.Image{}, err
		}
	}
	return i.Store.Upload(ctx, archive, ref, report)
}

// imageAllowed asks allowed_images, by every way to write the image's name.
func imageAllowed(s config.Daemon, ref string) error {
	return namesAllowed(s, ref, image.Names(ref))
}

func namesAllowed(s config.Daemon, ref string, names []string) error {
	if len(s.AllowedImages) == 0 || slices.ContainsFunc(names, s.ImageAllowed) {
		return nil
	}
	return sandbox.Errorf(sandbox.Denied, "image %.256q is not allowed here", ref).
		WithHint("allowed_images in daemon.toml lists the ones that are")
}

// registryEnv is what of the environment decides how registries are reached.
func registryEnv() []string {
	return []string{
		"DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	}
}
