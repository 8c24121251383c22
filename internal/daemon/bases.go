package daemon

import (
	"context"

	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Build makes a base of an image that daemon.toml permits, within its limits.
func (a adapter) Build(ctx context.Context, req engine.BuildRequest, report func(engine.BuildProgress)) (image.Image, error) {
	if err := namesAllowed(a.settings, req.Image, a.Images.NamesOf(req.Image)); err != nil {
		return image.Image{}, err
	}
	spec, err := permit(a.settings, sandbox.Spec{Image: req.Image})
	if err != nil {
		return image.Image{}, err
	}
	req.Limits = spec.Limits
	return a.Engine.Build(ctx, req, report)
}
