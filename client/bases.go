package client

import (
	"context"
	"encoding/base64"
	"net/http"

	"github.com/coop-dev/coop/api"
)

// Base says what of a configuration's base is there.
func (c *Client) Base(ctx context.Context, req api.BaseRequest) (*api.BaseStatus, error) {
	out := new(api.BaseStatus)
	if err := c.call(ctx, http.MethodPost, "/bases/status", req, out); err != nil {
		return nil, err
	}
	return out, nil
}

// BuildBase builds the base of a configuration. report, which may be nil, gets
// every event but the last; Output is decoded. Ending ctx ends the build.
func (c *Client) BuildBase(ctx context.Context, in api.BuildRequest, report func(api.BuildEvent)) (*api.Image, error) {
	req, err := c.request(ctx, http.MethodPost, "/bases", in)
	if err != nil {
		return nil, err
	}
	return follow(ctx, c, req, func(e api.BuildEvent) (*api.Image, *api.Error) {
		if e.Image == nil && e.Error == nil && report != nil {
			report(decoded(e))
		}
		return e.Image, e.Error
	})
}

func decoded(e api.BuildEvent) api.BuildEvent {
	if e.Encoding == "base64" {
		if b, err := base64.StdEncoding.DecodeString(e.Output); err == nil {
			e.Output, e.Encoding = string(b), ""
		}
	}
	return e
}
