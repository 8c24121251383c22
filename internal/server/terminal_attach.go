package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
)

// link carries frames between a client of a terminal and the daemon, in one of
// the two forms. read is called by one goroutine, the writing ones by another.
type link interface {
	read() (kind byte, payload []byte, err error)
	data(pieces [][]byte) error
	control(c api.Control) error
	// hurry bounds writing: the serving is over.
	hurry()
	// close ends the stream after what was written.
	close()
}

// attachTerminal adds a client to a terminal and turns the connection into
// frames. Everything that can go wrong before that is an ordinary answer.
func (s *Server) attachTerminal(w http.ResponseWriter, r *http.Request) error {
	ts, id, n, err := s.oneTerminal(r)
	if err != nil {
		return err
	}
	web, err := checkAttach(r)
	if err != nil {
		return err
	}
	o, err := clientOptions(r)
	if err != nil {
		return err
	}
	o.Web = web
	t, err := ts.Terminal(r.Context(), id, n)
	if n == 0 && sandbox.CodeOf(err) == sandbox.NotFound && err != nil {
		// A sandbox without an agent gets terminal 0 from the first who wants it.
		t, _, err = ts.OpenTerminal(r.Context(), id, terminal.Request{Role: terminal.RoleAgent, Cols: o.Cols, Rows: o.Rows})
	}
	if err != nil {
		return err
	}
	c, err := t.Attach(o)
	if err != nil {
		return sandbox.Errorf(sandbox.Gone, "terminal %d: %w", n, err)
	}
	defer c.Close()
	l, err := s.openLink(w, r, web)
	if l == nil || err != nil {
		return err
	}
	s.serveTerminal(r.Context(), l, c)
	return nil
}

// checkAttach finds out which form of stream is wanted.
func checkAttach(r *http.Request) (web bool, err error) {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return true, checkOrigin(r)
	}
	return false, checkUpgrade(r)
}

func (s *Server) openLink(w http.ResponseWriter, r *http.Request, web bool) (link, error) {
	if web {
		c := s.acceptWebSocket(w, r)
		if c == nil {
			return nil, nil // it was answered
		}
		return newWebLink(c, s.pinging), nil
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("take over connection: %w", err)
	}
	return newStreamLink(conn, rw.Reader, hello(r)), nil
}

func clientOptions(r *http.Request) (o terminal.ClientOptions, err error) {
	q, err := parseQuery(r)
	if err != nil {
		return o, err
	}
	if o.ReadOnly, err = flagParam(q, "readOnly"); err != nil {
		return o, err
	}
	if o.Scrollback, err = flagParam(q, "scrollback"); err != nil {
		return o, err
	}
	o.Cols, o.Rows, err = sizeParams(q)
	return o, err
}

func sizeParams(q url.Values) (cols, rows int, err error) {
	if !q.Has("cols") && !q.Has("rows") {
		return 0, 0, nil
	}
	cols, cerr := strconv.Atoi(q.Get("cols"))
	rows, rerr := strconv.Atoi(q.Get("rows"))
	if cerr != nil || rerr != nil || !terminal.ValidSize(cols, rows) {
		return 0, 0, sandbox.Errorf(sandbox.Invalid, "cols %.16q and rows %.16q are not from 1 × 1 to %d × %d",
			q.Get("cols"), q.Get("rows"), terminal.MaxCols, terminal.MaxRows)
	}
	return cols, rows, nil
}

// serveTerminal moves frames until one of these happens:
//
//	what                      last frame
//	the terminal ends         exit, or detached with the reason
//	the client sends detach   detached
//	the client vanishes       –
//	it breaks the protocol    error
//	the daemon shuts down     detached with the reason
//
// The program goes on in all of them.
func (s *Server) serveTerminal(ctx context.Context, l link, c *terminal.Client) {
	ctx, cancel := s.untilClosing(ctx)
	defer cancel(nil)
	disarm := context.AfterFunc(ctx, l.hurry)
	defer disarm()
	in := &typist{link: l, client: c}
	var reader sync.WaitGroup
	reader.Go(func() { cancel(in.run()) })

	err := in.show(ctx)
	if last := lastControl(err); last != nil {
		l.hurry()
		_ = l.control(*last) // a client that has gone is not told
	}
	l.close()
	reader.Wait()
}

// lastControl is what the client is told at the end; nil: nothing more.
func lastControl(err error) *api.Control {
	var known *sandbox.Error
	switch {
	case errors.Is(err, errDetached):
		return &api.Control{Type: "detached"}
	case errors.Is(err, errClosing):
		return &api.Control{Type: "detached", Reason: errClosing.Error()}
	case errors.As(err, &known):
		return &api.Control{Type: "error", Error: new(wireError(err))}
	}
	return nil
}

// typist takes what one client sends and shows it what happens.
type typist struct {
	link   link
	client *terminal.Client
}

// show sends frames until there are no more or ctx ends.
func (t *typist) show(ctx context.Context) error {
	for {
		f, err := t.client.Next(ctx)
		if err != nil {
			return err
		}
		if f.Control != nil {
			err = t.link.control(*f.Control)
		} else {
			err = t.link.data(f.Data)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errVanished, err)
		}
	}
}

// run takes frames until the client is gone, detaches or breaks the protocol,
// and says which.
func (t *typist) run() error {
	for {
		kind, payload, err := t.link.read()
		if err != nil {
			return readError(err)
		}
		if err := t.take(kind, payload); err != nil {
			return err
		}
	}
}

func (t *typist) take(kind byte, payload []byte) error {
	switch kind {
	case api.FrameData:
		if err := t.client.Write(payload); err != nil {
			t.refuse(err)
		}
		return nil
	case api.FrameControl:
		return t.takeControl(payload)
	}
	return sandbox.Errorf(sandbox.Invalid, "frames of type 0x%02x are only sent by the daemon", kind)
}

func (t *typist) takeControl(payload []byte) error {
	var c api.Control
	if err := json.Unmarshal(payload, &c); err != nil {
		return sandbox.Errorf(sandbox.Invalid, "control frame: %w", err)
	}
	switch c.Type {
	case "resize":
		if !terminal.ValidSize(c.Cols, c.Rows) {
			return invalidSize(c.Cols, c.Rows)
		}
		return t.client.Resize(c.Cols, c.Rows)
	case "detach":
		return errDetached
	}
	return sandbox.Errorf(sandbox.Invalid, "unknown control frame %.32q", c.Type)
}

// refuse has the client told that its input was not taken. One who types on is
// told again only after it has read that.
func (t *typist) refuse(err error) {
	code := sandbox.Unavailable
	if errors.Is(err, terminal.ErrReadOnly) {
		code = sandbox.Denied
	}
	t.client.Tell(api.Control{Type: "refused", Error: new(wireError(sandbox.Errorf(code, "input: %w", err)))})
}
