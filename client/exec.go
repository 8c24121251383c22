package client

import (
	"context"
	"net/http"
	"net/url"
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

// KillProcess sends a signal, SIGTERM when it is empty, to one process, named
// by its pid inside the sandbox.
func (c *Client) KillProcess(ctx context.Context, ref string, pid int, signal string) error {
	rest := "/processes/" + strconv.Itoa(pid)
	if signal != "" {
		rest += "?" + url.Values{"signal": {signal}}.Encode()
	}
	return c.onSandbox(ctx, http.MethodDelete, ref, rest, nil, nil)
}

// SignalExec sends a signal to a command that somebody is attached to, named
// by the exec of its started frame and the ref it was attached with.
// Stream.Signal does that by itself.
func (c *Client) SignalExec(ctx context.Context, ref, exec, signal string) error {
	return c.onSandbox(ctx, http.MethodPost, ref, "/exec/"+url.PathEscape(exec)+"/signal", api.SignalRequest{Signal: signal}, nil)
}
