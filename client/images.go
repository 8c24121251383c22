package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/coop-dev/coop/api"
)

// Images lists the images that are here, newest first.
func (c *Client) Images(ctx context.Context) (*api.List[api.Image], error) {
	list := new(api.List[api.Image])
	if err := c.call(ctx, http.MethodGet, "/images", nil, list); err != nil {
		return nil, err
	}
	return list, nil
}

// Image shows one, by reference, digest or the beginning of one.
func (c *Client) Image(ctx context.Context, ref string) (*api.Image, error) {
	img := new(api.Image)
	if err := c.call(ctx, http.MethodGet, "/images/inspect?"+url.Values{"ref": {ref}}.Encode(), nil, img); err != nil {
		return nil, err
	}
	return img, nil
}

// DeleteImage takes a reference away, and the image with its last one.
func (c *Client) DeleteImage(ctx context.Context, ref string) (*api.ImagesRemoved, error) {
	out := new(api.ImagesRemoved)
	if err := c.call(ctx, http.MethodDelete, "/images?"+url.Values{"ref": {ref}}.Encode(), nil, out); err != nil {
		return nil, err
	}
	return out, nil
}

// PruneImages removes what nobody needs.
func (c *Client) PruneImages(ctx context.Context, req api.ImagePruneRequest) (*api.ImagesRemoved, error) {
	out := new(api.ImagesRemoved)
	if err := c.call(ctx, http.MethodPost, "/images/prune", req, out); err != nil {
		return nil, err
	}
	return out, nil
}

// PullImage fetches an image. report, which may be nil, gets every event but the
// last.
func (c *Client) PullImage(ctx context.Context, req api.PullRequest, report func(api.ImageEvent)) (*api.Image, error) {
	return c.imageEvents(ctx, "/images/pull", req, report)
}

// ImportImage takes over an image from a file or directory of the daemon's
// machine.
func (c *Client) ImportImage(ctx context.Context, req api.ImportRequest, report func(api.ImageEvent)) (*api.Image, error) {
	return c.imageEvents(ctx, "/images/import", req, report)
}

// UploadImage sends an archive, as ImportImage takes one. An empty ref is the
// archive's own name.
func (c *Client) UploadImage(ctx context.Context, archive io.Reader, ref string, report func(api.ImageEvent)) (*api.Image, error) {
	path := "/images/archive"
	if ref != "" {
		path += "?" + url.Values{"ref": {ref}}.Encode()
	}
	req, err := c.request(ctx, http.MethodPut, path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Body, req.ContentLength = io.NopCloser(archive), -1
	return c.followImage(ctx, req, report)
}

func (c *Client) imageEvents(ctx context.Context, path string, in any, report func(api.ImageEvent)) (*api.Image, error) {
	req, err := c.request(ctx, http.MethodPost, path, in)
	if err != nil {
		return nil, err
	}
	return c.followImage(ctx, req, report)
}

// followImage reads events to the last.
func (c *Client) followImage(ctx context.Context, req *http.Request, report func(api.ImageEvent)) (*api.Image, error) {
	return follow(ctx, c, req, func(e api.ImageEvent) (*api.Image, *api.Error) {
		if e.Image == nil && e.Error == nil && report != nil {
			report(e)
		}
		return e.Image, e.Error
	})
}
