package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coop-dev/coop/api"
)

// Approve applies changes of a sandbox to its project: all that are asked for,
// or none. A refused one is an *api.Error whose details have the conflicts.
func (c *Client) Approve(ctx context.Context, ref string, req api.ApproveRequest) (*api.ApproveResult, error) {
	res := new(api.ApproveResult)
	if err := c.onSandbox(ctx, http.MethodPost, ref, "/approve", req, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Discard makes files of the workspace what they are in the project.
func (c *Client) Discard(ctx context.Context, ref string, req api.DiscardRequest) (*api.DiscardResult, error) {
	res := new(api.DiscardResult)
	if err := c.onSandbox(ctx, http.MethodPost, ref, "/discard", req, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Reject drops every change of a sandbox.
func (c *Client) Reject(ctx context.Context, ref string, req api.RejectRequest) (*api.DiscardResult, error) {
	res := new(api.DiscardResult)
	if err := c.onSandbox(ctx, http.MethodPost, ref, "/reject", req, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Rebase takes the project's present state as the new base.
func (c *Client) Rebase(ctx context.Context, ref string, req api.RebaseRequest) (*api.RebaseResult, error) {
	res := new(api.RebaseResult)
	if err := c.onSandbox(ctx, http.MethodPost, ref, "/rebase", req, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Conflicts lists what has changed in the sandbox and in the project.
func (c *Client) Conflicts(ctx context.Context, ref string) (*api.ConflictsResult, error) {
	res := new(api.ConflictsResult)
	if err := c.onSandbox(ctx, http.MethodGet, ref, "/conflicts", nil, res); err != nil {
		return nil, err
	}
	return res, nil
}

// AuditOf reads who put a file there, by its absolute path on the daemon's host.
func (c *Client) AuditOf(ctx context.Context, path string, limit int) (*api.List[api.AuditEntry], error) {
	q := url.Values{"path": {path}}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	list := new(api.List[api.AuditEntry])
	if err := c.call(ctx, http.MethodGet, "/audit?"+q.Encode(), nil, list); err != nil {
		return nil, err
	}
	return list, nil
}
