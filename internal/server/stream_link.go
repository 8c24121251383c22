package server

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/coop-dev/coop/api"
)

// streamLink is a connection with tagged frames. Writing has no deadline while
// the client is served: one that was stopped with Ctrl+Z may stay so for hours,
// costs only its bounded queue, and that it is dead the kernel tells us.
type streamLink struct {
	conn net.Conn
	in   *bufio.Reader
	buf  []byte
	err  error // of saying hello
}

// hello is the answer that ends HTTP.
func hello(r *http.Request) string {
	return "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + api.UpgradeProtocol +
		"\r\n" + requestIDHeader + ": " + requestID(r.Context()) + "\r\n\r\n"
}

func newStreamLink(conn net.Conn, in *bufio.Reader, hello string) *streamLink {
	l := &streamLink{conn: conn, in: in}
	_, l.err = io.WriteString(conn, hello)
	return l
}

func (l *streamLink) read() (byte, []byte, error) {
	kind, n, err := api.ReadFrameHeader(l.in)
	if err != nil {
		return 0, nil, err
	}
	l.buf = slices.Grow(l.buf[:0], n)[:n]
	_, err = io.ReadFull(l.in, l.buf)
	return kind, l.buf, err
}

// data sends the pieces as one frame, without copying them; pieces that do not
// fit one frame become several.
func (l *streamLink) data(pieces [][]byte) error {
	for _, p := range split(pieces, api.MaxFrame) {
		var head [api.FrameHeaderSize]byte
		api.PutFrameHeader(&head, api.FrameData, total(p))
		bufs := append(net.Buffers{head[:]}, p...)
		if _, err := bufs.WriteTo(l.conn); err != nil {
			return err
		}
	}
	return l.err
}

func (l *streamLink) control(c api.Control) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return api.WriteFrame(l.conn, api.FrameControl, b)
}

func (l *streamLink) hurry() { _ = l.conn.SetWriteDeadline(time.Now().Add(partingTime)) } // fails only on a closed connection

// close waits a moment for the client to hang up, as attachment.part does: the
// reader goes on until then.
func (l *streamLink) close() {
	if c, ok := l.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite() // the client has gone already
	}
	_ = l.conn.SetReadDeadline(time.Now().Add(partingTime)) // fails only on a closed connection
	_, _ = io.Copy(io.Discard, l.conn)
	_ = l.conn.Close() // nothing is left to be told
}

func total(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

// split groups pieces so that no group is longer than max, cutting those that
// are longer by themselves. The bytes are not copied.
func split(pieces [][]byte, max int) (groups [][][]byte) {
	var group [][]byte
	size := 0
	for _, p := range pieces {
		for len(p) > 0 {
			if size == max || size > 0 && size+len(p) > max {
				groups, group, size = append(groups, group), nil, 0
			}
			n := min(len(p), max)
			group, size, p = append(group, p[:n]), size+n, p[n:]
		}
	}
	if size > 0 {
		groups = append(groups, group)
	}
	return groups
}
