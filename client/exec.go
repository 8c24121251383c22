package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/coop-dev/coop/api"
)

// Exec runs one command to its end and returns its output, as much of it as
// the daemon keeps. A status other than 0 is no error.
func (c *Client) Exec(ctx context.Context, ref string, req api.ExecRequest) (*api.ExecResult, error) {
	result := new(api.ExecResult)
	if err := c.onSandbox(ctx, http.MethodPost, ref, "/exec", req, result); err != nil {
		return nil, err
	}
	return result, nil
}

// Processes lists what runs in a sandbox.
func (c *Client) Processes(ctx context.Context, ref string) (*api.List[api.Process], error) {
	list := new(api.List[api.Process])
	if err := c.onSandbox(ctx, http.MethodGet, ref, "/processes", nil, list); err != nil {
		return nil, err
	}
	return list, nil
}

// KillProcess ends one process, named by its pid inside the sandbox.
func (c *Client) KillProcess(ctx context.Context, ref string, pid int) error {
	return c.onSandbox(ctx, http.MethodDelete, ref, "/processes/"+strconv.Itoa(pid), nil, nil)
}
