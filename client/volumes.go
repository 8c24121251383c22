package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coop-dev/coop/api"
)

// Purge is Delete that also removes what is kept for the sandbox's project,
// unless another sandbox of the project is left.
func (c *Client) Purge(ctx context.Context, ref string) error {
	return c.onSandbox(ctx, http.MethodDelete, ref, "?purge=1", nil, nil)
}

// Volumes lists the named volumes.
func (c *Client) Volumes(ctx context.Context) (*api.List[api.Volume], error) {
	return ask[api.List[api.Volume]](ctx, c, http.MethodGet, "/volumes", nil)
}

// CreateVolume makes one.
func (c *Client) CreateVolume(ctx context.Context, req api.VolumeRequest) (*api.Volume, error) {
	return ask[api.Volume](ctx, c, http.MethodPost, "/volumes", req)
}

// DeleteVolume removes one that no sandbox uses.
func (c *Client) DeleteVolume(ctx context.Context, name string) error {
	return c.named(ctx, http.MethodDelete, "/volumes/", name, "", nil, nil)
}

// Workspaces lists the named workspaces.
func (c *Client) Workspaces(ctx context.Context) (*api.List[api.Volume], error) {
	return ask[api.List[api.Volume]](ctx, c, http.MethodGet, "/workspaces", nil)
}

// CreateWorkspace makes one.
func (c *Client) CreateWorkspace(ctx context.Context, req api.VolumeRequest) (*api.Volume, error) {
	return ask[api.Volume](ctx, c, http.MethodPost, "/workspaces", req)
}

// DeleteWorkspace removes one that no sandbox uses.
func (c *Client) DeleteWorkspace(ctx context.Context, name string) error {
	return c.named(ctx, http.MethodDelete, "/workspaces/", name, "", nil, nil)
}

// ListWorkspaceFiles lists a directory of a named workspace down to depth levels.
func (c *Client) ListWorkspaceFiles(ctx context.Context, name, path string, depth int) (*api.FileList, error) {
	out := new(api.FileList)
	q := url.Values{"path": {path}, "depth": {strconv.Itoa(depth)}}
	return out, c.named(ctx, http.MethodGet, "/workspaces/", name, "/files/list?"+q.Encode(), nil, out)
}

// ReadWorkspaceFile opens a file of a named workspace. The caller closes it.
func (c *Client) ReadWorkspaceFile(ctx context.Context, name, path string) (io.ReadCloser, error) {
	endpoint, err := namedPath("/workspaces/", name, "/files?"+url.Values{"path": {path}}.Encode())
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

// WriteWorkspaceFile makes or replaces a file of a named workspace in one step.
func (c *Client) WriteWorkspaceFile(ctx context.Context, name, path string, content io.Reader) error {
	endpoint, err := namedPath("/workspaces/", name, "/files?"+url.Values{"path": {path}}.Encode())
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPut, endpoint, nil, nil, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Body = io.NopCloser(content)
		r.ContentLength = -1 // unknown: sent in chunks
	})
}

// DeleteWorkspaceFile removes a file, or a directory with everything in it if
// recursive.
func (c *Client) DeleteWorkspaceFile(ctx context.Context, name, path string, recursive bool) error {
	q := url.Values{"path": {path}}
	if recursive {
		q.Set("recursive", "1")
	}
	return c.named(ctx, http.MethodDelete, "/workspaces/", name, "/files?"+q.Encode(), nil, nil)
}

// MkdirWorkspace makes a directory in a named workspace.
func (c *Client) MkdirWorkspace(ctx context.Context, name string, req api.MkdirRequest) error {
	return c.named(ctx, http.MethodPost, "/workspaces/", name, "/files/mkdir", req, nil)
}

// RenameWorkspaceFile moves something in a named workspace to a free name.
func (c *Client) RenameWorkspaceFile(ctx context.Context, name string, req api.RenameRequest) error {
	return c.named(ctx, http.MethodPost, "/workspaces/", name, "/files/rename", req, nil)
}

// Caches lists the shared package caches.
func (c *Client) Caches(ctx context.Context) (*api.List[api.Cache], error) {
	return ask[api.List[api.Cache]](ctx, c, http.MethodGet, "/caches", nil)
}

// PromoteCaches makes what a sandbox downloaded part of the shared caches.
func (c *Client) PromoteCaches(ctx context.Context, req api.PromoteRequest) (*api.List[api.Promoted], error) {
	return ask[api.List[api.Promoted]](ctx, c, http.MethodPost, "/caches/promote", req)
}

// Prune removes everything of a kind that no sandbox uses.
func (c *Client) Prune(ctx context.Context, req api.PruneRequest) (*api.Pruned, error) {
	return ask[api.Pruned](ctx, c, http.MethodPost, "/prune", req)
}

// DiskUsage tells what COOP_HOME holds.
func (c *Client) DiskUsage(ctx context.Context) (*api.DiskReport, error) {
	return ask[api.DiskReport](ctx, c, http.MethodGet, "/df", nil)
}

// ask is call for an answer of type T.
func ask[T any](ctx context.Context, c *Client, method, path string, in any) (*T, error) {
	out := new(T)
	if err := c.call(ctx, method, path, in, out); err != nil {
		return nil, err
	}
	return out, nil
}

func (c *Client) named(ctx context.Context, method, family, name, rest string, in, out any) error {
	path, err := namedPath(family, name, rest)
	if err != nil {
		return err
	}
	return c.call(ctx, method, path, in, out)
}

func namedPath(family, name, rest string) (string, error) {
	if name == "" || name == "." || name == ".." {
		return "", &api.Error{Code: api.CodeInvalid, Message: fmt.Sprintf("%q cannot be a name", name)}
	}
	return family + url.PathEscape(name) + rest, nil
}
