package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

const (
	maxPiece  = 32 << 10    // what careful WebSocket libraries take in one message
	writeWait = time.Minute // for a client that takes nothing
)

// pinging is how a dead client is noticed: after both times at the latest.
type pinging struct {
	every time.Duration
	wait  time.Duration // for the answer
}

func usualPinging() pinging { return pinging{every: 30 * time.Second, wait: 20 * time.Second} }

// checkOrigin refuses pages of other sites: a browser lets any page open a
// WebSocket to anywhere, and only says whose page it is.
func checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil // not a browser
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
		return sandbox.Errorf(sandbox.Denied, "origin %.128q may not open a WebSocket here", origin)
	}
	return nil
}

// acceptWebSocket switches protocols; nil: the request was answered instead.
func (s *Server) acceptWebSocket(w http.ResponseWriter, r *http.Request) *websocket.Conn {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		s.log.DebugContext(r.Context(), "websocket refused", "err", err, "request", requestID(r.Context()))
		return nil
	}
	c.SetReadLimit(api.MaxFrame)
	return c
}

// webLink is a WebSocket of a terminal: binary messages are bytes, text is
// control.
type webLink struct {
	conn   *websocket.Conn
	ctx    context.Context // ends reading, and with it the connection
	cancel context.CancelFunc
	mu     sync.Mutex
	wait   time.Duration // for one message to be written
	kill   *time.Timer
	pings  sync.WaitGroup
}

func newWebLink(c *websocket.Conn, p pinging) *webLink {
	l := &webLink{conn: c, wait: writeWait}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.pings.Go(func() { l.ping(p) })
	return l
}

// ping finds out that a client is dead without its having to be written to. The
// connection is closed then, which ends the reading.
func (l *webLink) ping(p pinging) {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(l.ctx, p.wait)
		err := l.conn.Ping(ctx)
		cancel()
		if err != nil {
			l.cancel()
			return
		}
	}
}

func (l *webLink) read() (byte, []byte, error) {
	kind, payload, err := l.conn.Read(l.ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", errVanished, err)
	}
	if kind == websocket.MessageText {
		return api.FrameControl, payload, nil
	}
	return api.FrameData, payload, nil
}

func (l *webLink) data(pieces [][]byte) error {
	for _, p := range split(pieces, maxPiece) {
		if err := l.message(p); err != nil {
			return err
		}
	}
	return nil
}

func (l *webLink) message(pieces [][]byte) error {
	ctx, cancel := l.deadline()
	defer cancel()
	if len(pieces) == 1 {
		return l.conn.Write(ctx, websocket.MessageBinary, pieces[0])
	}
	w, err := l.conn.Writer(ctx, websocket.MessageBinary)
	if err != nil {
		return err
	}
	for _, p := range pieces {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return w.Close()
}

func (l *webLink) control(c api.Control) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	ctx, cancel := l.deadline()
	defer cancel()
	return l.conn.Write(ctx, websocket.MessageText, b)
}

func (l *webLink) deadline() (context.Context, context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return context.WithTimeout(context.Background(), l.wait)
}

// hurry bounds the messages to come, and one that is being written now.
func (l *webLink) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait = partingTime
	if l.kill == nil {
		l.kill = time.AfterFunc(2*partingTime, func() { _ = l.conn.CloseNow() }) // it was to end
	}
}

// close says goodbye as RFC 6455 has it, which waits for the client's own.
func (l *webLink) close() {
	_ = l.conn.Close(websocket.StatusNormalClosure, "") // the client may have gone
	l.cancel()
	l.pings.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kill != nil {
		l.kill.Stop() // one that fired finds it closed
	}
}

// execMessages turns the messages of an exec's WebSocket into frames and back,
// so that one code serves both. Binary messages begin with the frame's type.
//
//	client → daemon   text: control   binary: 0x00, stdin
//	daemon → client   text: control   binary: 0x00, stdout or 0x02, stderr
func execMessages(ctx context.Context, c *websocket.Conn, frames io.ReadWriteCloser) {
	var wg sync.WaitGroup
	wg.Go(func() {
		defer frames.Close()
		for {
			kind, payload, err := c.Read(ctx)
			if err != nil || writeMessage(frames, kind, payload) != nil {
				return
			}
		}
	})
	for {
		kind, payload, err := api.ReadFrame(frames)
		if err != nil || sendFrame(ctx, c, kind, payload) != nil {
			break
		}
	}
	_ = c.Close(websocket.StatusNormalClosure, "") // the client may have gone
	_ = frames.Close()                             // wakes a write of the other direction
	wg.Wait()
}

func writeMessage(frames io.Writer, kind websocket.MessageType, payload []byte) error {
	if kind == websocket.MessageText {
		return api.WriteFrame(frames, api.FrameControl, payload)
	}
	if len(payload) == 0 {
		return nil
	}
	return api.WriteFrame(frames, payload[0], payload[1:])
}

func sendFrame(ctx context.Context, c *websocket.Conn, kind byte, payload []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	if kind == api.FrameControl {
		return c.Write(ctx, websocket.MessageText, payload)
	}
	return c.Write(ctx, websocket.MessageBinary, append([]byte{kind}, payload...))
}
