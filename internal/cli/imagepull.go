package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

// The words of --pull.
const (
	pullMissing = "missing"
	pullAlways  = "always"
	pullNever   = "never"
)

// createSandbox makes a sandbox. An image that is not here is fetched first: the
// API does not do that by itself, but whoever types a command wants it to work.
func (a *app) createSandbox(ctx context.Context, c *client.Client, req api.CreateRequest, pull string) (*api.Sandbox, error) {
	switch pull {
	case "", pullMissing, pullNever:
	case pullAlways:
		if err := a.fetchImage(ctx, c, req.Image); err != nil {
			return nil, err
		}
	default:
		return nil, &usageError{message: "--pull " + pull + " is not known", hint: "one of missing, always, never"}
	}
	sb, err := c.Create(ctx, req, client.WithIdempotencyKey(rand.Text()))
	if pull == pullNever || !imageMissing(err) {
		return sb, err
	}
	if err := a.fetchImage(ctx, c, req.Image); err != nil {
		return nil, err
	}
	return c.Create(ctx, req, client.WithIdempotencyKey(rand.Text()))
}

// imageMissing reports whether a create failed for want of its image alone.
func imageMissing(err error) bool {
	var failure *api.Error
	return errors.As(err, &failure) && failure.Code == api.CodeNotFound && failure.Details["image"] != nil
}

func (a *app) fetchImage(ctx context.Context, c *client.Client, image string) error {
	if image == "" || image == "host" {
		return nil
	}
	var err error
	if strings.HasPrefix(image, "oci:") || strings.HasPrefix(image, "tar:") {
		_, err = a.importImage(ctx, c, api.ImportRequest{Source: image, Reference: image})
	} else {
		_, err = a.pull(ctx, c, api.PullRequest{Reference: image})
	}
	return err
}

// imageName makes the path of a local image absolute: the daemon does not share
// our directory.
func imageName(s string) string {
	if strings.HasPrefix(s, "oci:") || strings.HasPrefix(s, "tar:") {
		return absoluteSource(s)
	}
	return s
}
