package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coop-dev/coop/api"
)

// terminalPath is the endpoint of one terminal, below its sandbox.
func terminalPath(n int, rest string, q url.Values) string {
	path := "/terminals/" + strconv.Itoa(n) + rest
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// Terminals lists the live terminals of a sandbox, by number.
func (c *Client) Terminals(ctx context.Context, ref string) (*api.List[api.Terminal], error) {
	list := new(api.List[api.Terminal])
	if err := c.onSandbox(ctx, http.MethodGet, ref, "/terminals", nil, list); err != nil {
		return nil, err
	}
	return list, nil
}

// OpenTerminal starts a program on a new terminal, or with req.Reuse finds a
// live shell.
func (c *Client) OpenTerminal(ctx context.Context, ref string, req api.TerminalRequest) (*api.Terminal, error) {
	t := new(api.Terminal)
	if err := c.onSandbox(ctx, http.MethodPost, ref, "/terminals", req, t); err != nil {
		return nil, err
	}
	return t, nil
}

// KillTerminal ends the program of a terminal with everything it started.
func (c *Client) KillTerminal(ctx context.Context, ref string, n int) error {
	return c.onSandbox(ctx, http.MethodDelete, ref, terminalPath(n, "", nil), nil, nil)
}

// ResizeTerminal sets the size until an attached client is active again.
func (c *Client) ResizeTerminal(ctx context.Context, ref string, n, cols, rows int) error {
	return c.onSandbox(ctx, http.MethodPost, ref, terminalPath(n, "/resize", nil), api.ResizeRequest{Cols: cols, Rows: rows}, nil)
}

// RestartTerminal ends the program of a terminal and starts it again.
func (c *Client) RestartTerminal(ctx context.Context, ref string, n int, req api.RestartRequest) (*api.Terminal, error) {
	t := new(api.Terminal)
	if err := c.onSandbox(ctx, http.MethodPost, ref, terminalPath(n, "/restart", nil), req, t); err != nil {
		return nil, err
	}
	return t, nil
}

// Restart starts the agent of a sandbox again with what req says.
func (c *Client) Restart(ctx context.Context, ref string, req api.RestartRequest) (*api.Sandbox, error) {
	return c.transition(ctx, http.MethodPost, ref, "/restart", req)
}

// TerminalOptions say how to attach. A size of 0 leaves the terminal's alone.
type TerminalOptions struct {
	Cols, Rows int
	ReadOnly   bool
	Scrollback bool // older lines before the screen
}

func (o TerminalOptions) query() url.Values {
	q := url.Values{}
	if o.Cols > 0 && o.Rows > 0 {
		q.Set("cols", strconv.Itoa(o.Cols))
		q.Set("rows", strconv.Itoa(o.Rows))
	}
	setFlag(q, "readOnly", o.ReadOnly)
	setFlag(q, "scrollback", o.Scrollback)
	return q
}

func setFlag(q url.Values, name string, set bool) {
	if set {
		q.Set(name, "1")
	}
}

// AttachTerminal watches a terminal and types into it: Next gives the screen,
// then what happens; WriteStdin types; Resize and Detach do what they say. The
// context bounds the start only. The program outlives the stream.
func (c *Client) AttachTerminal(ctx context.Context, ref string, n int, o TerminalOptions) (*Stream, error) {
	path, err := sandboxPath(ref, terminalPath(n, "/attach", o.query()))
	if err != nil {
		return nil, err
	}
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return c.upgrade(req)
}

// Resize says that the window has another size. Only for terminals.
func (s *Stream) Resize(cols, rows int) error {
	return s.sendControl(api.Control{Type: "resize", Cols: cols, Rows: rows})
}

// Detach asks for the end of the stream while the program goes on. A terminal's
// stream ends with a detached frame.
func (s *Stream) Detach() error { return s.sendControl(api.Control{Type: "detach"}) }

// LogOptions say what to read of a terminal's log.
type LogOptions struct {
	Follow bool // until the terminal ends
	Raw    bool // byte for byte, with escape sequences a terminal would obey
	Tail   int  // only the last so many lines; 0: all that is kept
}

// TerminalLogs reads what a terminal printed, also after it has ended. The
// caller closes it.
func (c *Client) TerminalLogs(ctx context.Context, ref string, n int, o LogOptions) (io.ReadCloser, error) {
	q := url.Values{}
	setFlag(q, "follow", o.Follow)
	setFlag(q, "raw", o.Raw)
	if o.Tail > 0 {
		q.Set("tail", strconv.Itoa(o.Tail))
	}
	path, err := sandboxPath(ref, terminalPath(n, "/logs", q))
	if err != nil {
		return nil, err
	}
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
