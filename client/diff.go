package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/coop-dev/coop/api"
)

// DiffOptions narrow a diff.
type DiffOptions struct {
	Paths  []string // of the workspace; none means all
	Detail string   // "full" (default), "stat", "names"
}

func diffPath(ref string, o DiffOptions, format string) (string, error) {
	q := url.Values{}
	for _, p := range o.Paths {
		q.Add("path", p)
	}
	if o.Detail != "" {
		q.Set("detail", o.Detail)
	}
	if format != "" {
		q.Set("format", format)
	}
	tail := "/diff"
	if len(q) > 0 {
		tail += "?" + q.Encode()
	}
	return sandboxPath(ref, tail)
}

// Diff tells what a sandbox changed in its workspace.
func (c *Client) Diff(ctx context.Context, ref string, o DiffOptions) (*api.Diff, error) {
	endpoint, err := diffPath(ref, o, "")
	if err != nil {
		return nil, err
	}
	var d api.Diff
	return &d, c.call(ctx, http.MethodGet, endpoint, nil, &d)
}

// Patch gives the same as text that git apply and patch take, byte for byte. The
// caller closes it.
func (c *Client) Patch(ctx context.Context, ref string, paths []string) (io.ReadCloser, error) {
	endpoint, err := diffPath(ref, DiffOptions{Paths: paths}, "patch")
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
