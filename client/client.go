package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/coop-dev/coop/api"
)

// Options say where the daemon is. Host wins over Socket.
type Options struct {
	Socket string // path of the daemon's unix socket
	Host   string // unix:///path, http://host:port or https://host:port
	Token  string // sent as bearer token, never over a unix socket

	// Dial replaces how a connection is made, for instance to start a daemon
	// first. The address is the socket's path or host:port. Whatever error it
	// returns counts as ErrUnreachable and stays visible to errors.As.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Client talks to one daemon.
type Client struct {
	base  string // scheme and host of every URL
	token string
	http  *http.Client
}

// New checks the options; it does not connect.
func New(o Options) (*Client, error) {
	base, socket, err := o.target()
	if err != nil {
		return nil, err
	}
	c := &Client{base: base, token: o.Token}
	dial := DialUnix
	if socket != "" {
		c.token = "" // on the socket the peer's uid is the authority
	} else {
		dial = dialTCP
	}
	if o.Dial != nil {
		dial = o.Dial
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:        dialer(dial, socket),
			DisableCompression: true,
		},
		// An API that redirects is not ours; following would send it the body.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// target gives the base of URLs and, for a unix socket, its path.
func (o Options) target() (base, socket string, err error) {
	if o.Host == "" && o.Socket == "" {
		return "", "", errors.New("neither a socket nor a host given")
	}
	if o.Host == "" {
		return "http://coop", o.Socket, nil
	}
	u, err := url.Parse(o.Host)
	if err != nil {
		return "", "", fmt.Errorf("host: %w", err)
	}
	switch {
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		return "http://coop", u.Path, nil
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.Trim(u.Path, "/") == "":
		return u.Scheme + "://" + u.Host, "", nil
	}
	return "", "", fmt.Errorf("host %q is neither unix:///path nor http://host:port", u.Redacted())
}

// dialError marks an error of connecting, as opposed to one of talking.
type dialError struct{ cause error }

func (e *dialError) Error() string   { return ErrUnreachable.Error() + ": " + e.cause.Error() }
func (e *dialError) Unwrap() []error { return []error{ErrUnreachable, e.cause} }

func dialer(dial func(context.Context, string) (net.Conn, error), socket string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		if socket != "" {
			address = socket
		}
		conn, err := dial(ctx, address)
		if err != nil {
			return nil, &dialError{err}
		}
		return conn, nil
	}
}

// Close gives idle connections back; the client may still be used.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call sends in as JSON, unless it is nil, and decodes the answer into out,
// unless that is nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any, edits ...func(*http.Request)) error {
	req, err := c.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	for _, edit := range edits {
		edit(req)
	}
	resp, err := c.send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return broken(ctx, fmt.Errorf("answer of %s %s: %w", method, path, err))
	}
	return nil
}

func (c *Client) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data) // gives the request its Content-Length
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+api.Prefix+path, body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

// send returns only successes; the caller closes their body.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, sendError(req.Context(), err)
	}
	if resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, errorFrom(resp)
}

func sendError(ctx context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which says nothing to a person
	}
	if errors.Is(err, ErrUnreachable) {
		return err
	}
	return broken(ctx, err)
}

// broken tells a caller's own cancelling from a connection that broke.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}
