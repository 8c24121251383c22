package client

import (
	"context"
	"net/http"

	"github.com/coop-dev/coop/api"
)

// GC removes sandboxes nobody needs and tells why each.
func (c *Client) GC(ctx context.Context, req api.GCRequest) (*api.GCResult, error) {
	out := new(api.GCResult)
	if err := c.call(ctx, http.MethodPost, "/gc", req, out); err != nil {
		return nil, err
	}
	return out, nil
}
