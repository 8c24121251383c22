package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

// requestWait is how long a WebSocket may take to say what it wants.
const requestWait = 10 * time.Second

// attachExecWeb is attachExec for WebSockets, whose handshake has no body: the
// first message, a text, is the request. What goes wrong from then on is told
// by an error control message.
func (s *Server) attachExecWeb(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return sandbox.Errorf(sandbox.Invalid, "exec/attach needs an upgrade").
			WithHint("open a WebSocket, or POST with Upgrade: %s", api.UpgradeProtocol)
	}
	if err := checkOrigin(r); err != nil {
		return err
	}
	c := s.acceptWebSocket(w, r)
	if c == nil {
		return nil
	}
	defer c.CloseNow()
	near, far := net.Pipe()
	var messages sync.WaitGroup
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer messages.Wait()
	defer cancel()
	a, err := s.startExecWeb(r, c, id, near, far)
	if err != nil {
		refuseWeb(c, err)
		return nil
	}
	messages.Go(func() { execMessages(ctx, c, far) })
	defer near.Close()
	a.serve()
	return nil
}

func (s *Server) startExecWeb(r *http.Request, c *websocket.Conn, id string, near, far net.Conn) (*attachment, error) {
	req, err := firstMessage(r.Context(), c)
	if err != nil {
		return nil, err
	}
	command, err := attachedCommand(req)
	if err != nil {
		return nil, err
	}
	ex, err := s.cfg.Engine.Exec(r.Context(), id, command)
	if err != nil {
		return nil, err
	}
	conn := &halfPipe{Conn: near, far: far}
	a := s.newAttachment(r, ex, conn, bufio.NewReader(near), req)
	a.hello = ""
	a.unlist = s.attached.add(id+"/"+ex.ID(), ex)
	return a, nil
}

func firstMessage(ctx context.Context, c *websocket.Conn) (req api.ExecRequest, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	kind, b, err := c.Read(ctx)
	if err != nil {
		return req, fmt.Errorf("%w: %w", errVanished, err)
	}
	if kind != websocket.MessageText {
		return req, sandbox.Errorf(sandbox.Invalid, "the first message must be the request, as text")
	}
	return req, decodeStrict(b, &req)
}

// refuseWeb tells a client of a WebSocket that there will be no stream.
func refuseWeb(c *websocket.Conn, err error) {
	l := newWebLink(c, usualPinging())
	l.hurry()
	_ = l.control(api.Control{Type: "error", Error: new(wireError(err))}) // the client may have gone
	l.close()
}

// halfPipe lets one end of a pipe say that it has no more to say, by ending the
// waiting of the other: every frame before was taken when its write returned.
type halfPipe struct {
	net.Conn
	far net.Conn
}

// CloseWrite is for attachment.part.
func (p *halfPipe) CloseWrite() error { return p.far.SetReadDeadline(longAgo()) }
