package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/coop-dev/coop/api"
)

// sandboxPath is the path of one sandbox's endpoint. A server cleans "." and
// ".." out of paths, which would address something else.
func sandboxPath(ref, rest string) (string, error) {
	if ref == "" || ref == "." || ref == ".." {
		return "", &api.Error{Code: api.CodeInvalid, Message: fmt.Sprintf("%q cannot be a sandbox", ref)}
	}
	return "/sandboxes/" + url.PathEscape(ref) + rest, nil
}

// onSandbox is call for an endpoint below one sandbox.
func (c *Client) onSandbox(ctx context.Context, method, ref, rest string, in, out any) error {
	path, err := sandboxPath(ref, rest)
	if err != nil {
		return err
	}
	return c.call(ctx, method, path, in, out)
}

// CreateOption goes with a create and is no part of what is made.
type CreateOption func(*http.Request)

// WithIdempotencyKey makes a repeated create with the same key return the
// sandbox of the first. It also lets the client repeat the request by itself
// when an idle connection turns out to be dead.
func WithIdempotencyKey(key string) CreateOption {
	return func(r *http.Request) { r.Header.Set("Idempotency-Key", key) }
}

// Create makes a sandbox and returns once it runs.
func (c *Client) Create(ctx context.Context, req api.CreateRequest, opts ...CreateOption) (*api.Sandbox, error) {
	edits := make([]func(*http.Request), len(opts))
	for i, o := range opts {
		edits[i] = o
	}
	sb := new(api.Sandbox)
	if err := c.call(ctx, http.MethodPost, "/sandboxes", req, sb, edits...); err != nil {
		return nil, err
	}
	return sb, nil
}

// ListOptions narrow a list; zero fields do not narrow.
type ListOptions struct {
	Status string
	Owner  string
	Labels map[string]string
	Path   string // the workspace's source, exactly
	Limit  int
	Cursor string
}

func (o ListOptions) query() string {
	q := url.Values{}
	for key, value := range map[string]string{"status": o.Status, "owner": o.Owner, "path": o.Path, "cursor": o.Cursor} {
		if value != "" {
			q.Set(key, value)
		}
	}
	for k, v := range o.Labels {
		q.Add("label", k+"="+v)
	}
	slices.Sort(q["label"])
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// List gives one page, newest first.
func (c *Client) List(ctx context.Context, o ListOptions) (*api.List[api.Sandbox], error) {
	page := new(api.List[api.Sandbox])
	if err := c.call(ctx, http.MethodGet, "/sandboxes"+o.query(), nil, page); err != nil {
		return nil, err
	}
	return page, nil
}

// ListAll follows the cursors to the last page.
func (c *Client) ListAll(ctx context.Context, o ListOptions) ([]api.Sandbox, error) {
	var all []api.Sandbox
	for {
		page, err := c.List(ctx, o)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.NextCursor == "" || len(page.Items) == 0 {
			return all, nil
		}
		o.Cursor = page.NextCursor
	}
}

// Get finds a sandbox by name, id or unique prefix of an id, as every ref.
func (c *Client) Get(ctx context.Context, ref string) (*api.Sandbox, error) {
	return c.transition(ctx, http.MethodGet, ref, "", nil)
}

// Delete removes a sandbox and everything in it, running or not.
func (c *Client) Delete(ctx context.Context, ref string) error {
	return c.onSandbox(ctx, http.MethodDelete, ref, "", nil, nil)
}

// Stop sends SIGTERM, waits for the grace period and kills what is left.
func (c *Client) Stop(ctx context.Context, ref string, req api.StopRequest) (*api.Sandbox, error) {
	return c.transition(ctx, http.MethodPost, ref, "/stop", req)
}

// Start runs a stopped sandbox again, on the same files.
func (c *Client) Start(ctx context.Context, ref string) (*api.Sandbox, error) {
	return c.transition(ctx, http.MethodPost, ref, "/start", nil)
}

func (c *Client) transition(ctx context.Context, method, ref, verb string, in any) (*api.Sandbox, error) {
	sb := new(api.Sandbox)
	if err := c.onSandbox(ctx, method, ref, verb, in, sb); err != nil {
		return nil, err
	}
	return sb, nil
}
