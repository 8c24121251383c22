package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coop-dev/coop/api"
)

// Audit reads what happened, newest first. An empty ref is every sandbox, limit
// 0 the daemon's default.
func (c *Client) Audit(ctx context.Context, ref string, limit int) (*api.List[api.AuditEntry], error) {
	q := url.Values{}
	if ref != "" {
		q.Set("sandbox", ref)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	list := new(api.List[api.AuditEntry])
	if err := c.call(ctx, http.MethodGet, "/audit?"+q.Encode(), nil, list); err != nil {
		return nil, err
	}
	return list, nil
}

// Health tells how the daemon is.
func (c *Client) Health(ctx context.Context) (*api.Health, error) {
	health := new(api.Health)
	if err := c.call(ctx, http.MethodGet, "/health", nil, health); err != nil {
		return nil, err
	}
	return health, nil
}

// Doctor tells what the daemon's host can and cannot do.
func (c *Client) Doctor(ctx context.Context) (*api.Doctor, error) {
	doctor := new(api.Doctor)
	if err := c.call(ctx, http.MethodGet, "/doctor", nil, doctor); err != nil {
		return nil, err
	}
	return doctor, nil
}

// Version tells which daemon it is.
func (c *Client) Version(ctx context.Context) (*api.Version, error) {
	version := new(api.Version)
	if err := c.call(ctx, http.MethodGet, "/version", nil, version); err != nil {
		return nil, err
	}
	return version, nil
}

// Shutdown ends the daemon. With keep its sandboxes go on running and the next
// daemon finds them again; without, they are stopped first.
func (c *Client) Shutdown(ctx context.Context, keep bool) error {
	path := "/shutdown"
	if keep {
		path += "?keep=1"
	}
	return c.call(ctx, http.MethodPost, path, nil, nil)
}
