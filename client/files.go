package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

func filesPath(ref, path string) (string, error) {
	return sandboxPath(ref, "/files?"+url.Values{"path": {path}}.Encode())
}

// ReadFile opens a file of a sandbox. The caller closes it.
func (c *Client) ReadFile(ctx context.Context, ref, path string) (io.ReadCloser, error) {
	endpoint, err := filesPath(ref, path)
	if err != nil {
		return nil, err
	}
	req, err := c.request(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// WriteFile makes or replaces a file of a sandbox with what content gives.
func (c *Client) WriteFile(ctx context.Context, ref, path string, content io.Reader) error {
	endpoint, err := filesPath(ref, path)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPut, endpoint, nil, nil, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Body = io.NopCloser(content)
		r.ContentLength = -1 // unknown: sent in chunks
	})
}
