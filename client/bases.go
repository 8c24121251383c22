package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
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
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var e api.BuildEvent
		if err := d.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // the last event never came
			}
			return nil, broken(ctx, err)
		}
		switch {
		case e.Error != nil:
			return nil, e.Error
		case e.Image != nil:
			return e.Image, nil
		case report != nil:
			report(decoded(e))
		}
	}
}

func decoded(e api.BuildEvent) api.BuildEvent {
	if e.Encoding == "base64" {
		if b, err := base64.StdEncoding.DecodeString(e.Output); err == nil {
			e.Output, e.Encoding = string(b), ""
		}
	}
	return e
}
