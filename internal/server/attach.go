package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

// How an attach ends. The reading side alone decides about the client; a
// failed write only mutes the output, since a `detach` may still be unread.
//
//	what happens            command         last frame   sandbox
//	it exits                –               exit         onExit
//	time runs out           tree killed     exit         onExit
//	client sends detach     goes on         –            onExit, at its exit
//	client vanishes         tree killed     –            onExit
//	client breaks protocol  tree killed     error        onExit
//	daemon shuts down       goes on         error        kept
const (
	partingTime = time.Second // for the last frames to a client that is not served any more
	probeEvery  = time.Second // while stdin is full; see push
)

var (
	errVanished = errors.New("the client has gone")
	errOver     = errors.New("the command has ended")
)

// attachExec starts a command, then turns the connection into frames.
// Everything that can go wrong before that is an ordinary answer.
func (s *Server) attachExec(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	if err := checkUpgrade(r); err != nil {
		return err
	}
	var req api.ExecRequest
	if err := decodeBody(w, r, maxExecBody, &req); err != nil {
		return err
	}
	c, err := attachedCommand(req)
	if err != nil {
		return err
	}
	ex, err := s.cfg.Engine.Exec(r.Context(), id, c)
	if err != nil {
		return err
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		abort(r.Context(), ex)
		return fmt.Errorf("take over connection: %w", err)
	}
	defer conn.Close()
	a := s.newAttachment(r, ex, conn, rw.Reader, req)
	a.unlist = s.attached.add(id+"/"+ex.ID(), ex)
	a.serve()
	return nil
}

func checkUpgrade(r *http.Request) error {
	proto := r.Header.Get("Upgrade")
	switch {
	case strings.EqualFold(proto, api.UpgradeProtocol) && r.ProtoAtLeast(1, 1):
	case proto != "":
		return sandbox.Errorf(sandbox.Unsupported, "upgrade to %.32q is not there", proto).
			WithHint("use Upgrade: %s, or GET with a WebSocket", api.UpgradeProtocol)
	default:
		return sandbox.Errorf(sandbox.Invalid, "attach needs an upgrade").
			WithHint("send Connection: Upgrade and Upgrade: %s, or open a WebSocket", api.UpgradeProtocol)
	}
	if r.ContentLength < 0 {
		// A chunked body has no end that both sides agree on before frames begin.
		return sandbox.Errorf(sandbox.Invalid, "attach needs a Content-Length")
	}
	return nil
}

// attachment is one command with the client that watches it.
type attachment struct {
	exec   Exec
	conn   net.Conn
	in     *bufio.Reader
	out    *frameWriter
	stdin  *stdinQueue // nil unless interactive
	told   bool        // the client asked for onExit and is told whether the sandbox was kept
	hello  string      // the answer that ends HTTP, unless it was given
	unlist func()      // takes the exec from the list that signalExec looks into
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (s *Server) newAttachment(r *http.Request, ex Exec, conn net.Conn, in *bufio.Reader, req api.ExecRequest) *attachment {
	a := &attachment{
		exec: ex, conn: conn, in: in, out: &frameWriter{conn: conn}, told: req.OnExit != "",
		hello: hello(r),
	}
	if req.Interactive {
		a.stdin = newStdinQueue()
	}
	a.ctx, a.cancel = s.untilClosing(r.Context())
	return a
}

// serve moves frames until the attach has ended in one of the ways above.
func (a *attachment) serve() {
	defer a.cancel(errOver)
	defer a.unlist()
	if a.hello != "" {
		a.out.send([]byte(a.hello))
	}
	a.out.control(api.Control{Type: "started", Exec: a.exec.ID()})
	p, err := startPumps(a.exec, a.out.sink(api.FrameData), a.out.sink(api.FrameStderr), a.source())
	if err != nil {
		abort(a.ctx, a.exec)
		a.part(api.Control{Type: "error", Error: new(wireError(err))}, err)
		return
	}
	// Whatever ends the serving early also ends waiting for a slow client.
	disarm := context.AfterFunc(a.ctx, func() { _ = a.conn.SetWriteDeadline(time.Now().Add(partingTime)) })
	var reader sync.WaitGroup
	reader.Go(a.readFrames)

	outcome, err := await(a.ctx, a.exec)
	cause := context.Cause(a.ctx)
	if errors.Is(err, errClosing) {
		p.leave()
	} else {
		p.stop()
	}
	disarm()
	_ = a.conn.SetReadDeadline(longAgo()) // fails only on a closed connection
	reader.Wait()
	a.unlist()
	a.end(outcome, err, cause)
}

// source is stdin as the pumps take it; a nil queue in an interface is not nil.
func (a *attachment) source() io.Reader {
	if a.stdin == nil {
		return nil
	}
	return a.stdin
}

// end finishes the exec, then sends the last frame: a client that reads `exit`
// finds the sandbox as onExit wanted it.
func (a *attachment) end(outcome engine.Outcome, err, cause error) {
	if errors.Is(err, errClosing) {
		a.part(api.Control{Type: "error", Error: new(wireError(errClosing))}, cause)
		return
	}
	kept, ferr := finish(a.ctx, a.exec)
	last := api.Control{Type: "exit", Exit: new(resultOf(outcome))}
	if a.told {
		last.Kept = &kept
	}
	switch {
	case sandbox.CodeOf(cause) == sandbox.Invalid:
		last = api.Control{Type: "error", Error: new(wireError(cause))}
	case err != nil:
		last = api.Control{Type: "error", Error: new(wireError(err))}
	case ferr != nil:
		last.Error = new(wireError(ferr))
	}
	a.part(last, cause)
}

// part sends the last frame and waits a moment for the client to hang up:
// closing a socket with unread bytes in it resets the connection, and the
// client may lose the frame. With a cause the serving ended early, and a client
// that does not read is not waited for.
func (a *attachment) part(last api.Control, cause error) {
	if cause != nil {
		_ = a.conn.SetWriteDeadline(time.Now().Add(partingTime)) // fails only on a closed connection
	}
	a.out.control(last)
	if c, ok := a.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite() // the client has gone already
	}
	_ = a.conn.SetReadDeadline(time.Now().Add(partingTime)) // fails only on a closed connection
	_, _ = io.Copy(io.Discard, a.conn)
}
