package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/coop-dev/coop/api"
)

// follow sends a request that is answered with one JSON object a line, and hands
// them on until one of them is the last: it has an image or an error.
func follow[E any](ctx context.Context, c *Client, req *http.Request, event func(E) (*api.Image, *api.Error)) (*api.Image, error) {
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var e E
		if err := d.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // the last event never came
			}
			return nil, broken(ctx, err)
		}
		img, failure := event(e)
		if failure != nil {
			return nil, failure
		}
		if img != nil {
			return img, nil
		}
	}
}
