package server

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
	"github.com/coop-dev/coop/internal/terminal/screen"
)

// terminalLog sends what a terminal printed. Unless raw bytes are asked for it
// is made harmless: text, line ends and colours.
func (s *Server) terminalLog(w http.ResponseWriter, r *http.Request) error {
	ts, id, n, err := s.oneTerminal(r)
	if err != nil {
		return err
	}
	o, err := logOptionsOf(r)
	if err != nil {
		return err
	}
	t, err := ts.Terminal(r.Context(), id, n)
	if sandbox.CodeOf(err) == sandbox.NotFound || sandbox.CodeOf(err) == sandbox.Conflict {
		t, err = nil, nil // it has ended, or the sandbox is stopped: TerminalLog knows
	}
	if err != nil {
		return err
	}
	ctx, cancel := s.untilClosing(r.Context())
	defer cancel(nil)
	if t != nil {
		// From here on the log stays, even if the terminal ends.
		changed, stop := t.Watch()
		if changed != nil {
			defer stop()
			return o.live(ctx, w, t, changed)
		}
	}
	h, err := ts.TerminalLog(r.Context(), id, n)
	if err != nil {
		return err
	}
	defer h.Close()
	return o.send(ctx, w, h, nil, nil)
}

func (o logOptions) live(ctx context.Context, w http.ResponseWriter, t *terminal.Terminal, changed <-chan struct{}) error {
	h, err := t.History()
	if err != nil {
		return err
	}
	defer h.Close()
	return o.send(ctx, w, h, t, changed)
}

type logOptions struct {
	follow, raw bool
	tail        int // -1: everything
}

func logOptionsOf(r *http.Request) (o logOptions, err error) {
	q, err := parseQuery(r)
	if err != nil {
		return o, err
	}
	if o.follow, err = flagParam(q, "follow"); err != nil {
		return o, err
	}
	if o.raw, err = flagParam(q, "raw"); err != nil {
		return o, err
	}
	o.tail = -1
	if q.Has("tail") {
		o.tail, err = strconv.Atoi(q.Get("tail"))
		if err != nil || o.tail < 0 {
			return o, sandbox.Errorf(sandbox.Invalid, "tail %.32q is not a number of lines", q.Get("tail"))
		}
	}
	return o, nil
}

// flagParam reads ?name=1.
func flagParam(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "", "0", "false":
		return q.Has(name) && q.Get(name) == "", nil
	case "1", "true":
		return true, nil
	}
	return false, sandbox.Errorf(sandbox.Invalid, "parameter %s is 1 or 0", name)
}

// send writes the stored part, then, when it shall follow, what is added.
func (o logOptions) send(ctx context.Context, w http.ResponseWriter, h *terminal.History, t *terminal.Terminal, changed <-chan struct{}) error {
	from := int64(0)
	if o.tail >= 0 {
		var err error
		if from, err = h.Tail(o.tail); err != nil {
			return err
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if o.raw {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	out := &logWriter{w: w, raw: o.raw}
	if _, err := io.Copy(out, io.NewSectionReader(h, from, h.Size()-from)); err != nil {
		return err
	}
	if o.follow && t != nil {
		if err := out.follow(ctx, t, changed, h.End()); err != nil {
			return err
		}
	}
	return out.end()
}

// logWriter makes a log harmless on its way to a reader.
type logWriter struct {
	w     io.Writer
	raw   bool
	clean screen.Sanitizer
	ends  lineEnds
	buf   []byte
}

func (l *logWriter) Write(p []byte) (int, error) {
	out := p
	if !l.raw {
		l.buf = l.ends.apply(l.clean.Append(l.buf[:0], p))
		out = l.buf
	}
	if len(out) == 0 {
		return len(p), nil
	}
	if _, err := l.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *logWriter) end() error {
	if l.raw {
		return nil
	}
	_, err := l.w.Write(l.clean.End(nil))
	return err
}

// follow sends output as it is stored. A reader that is too slow for what the
// terminal keeps is told where bytes are missing.
func (l *logWriter) follow(ctx context.Context, t *terminal.Terminal, changed <-chan struct{}, off uint64) error {
	buf := make([]byte, pumpBuffer)
	for open := true; ; {
		n, at, err := t.Read(buf, off)
		if err != nil {
			return err
		}
		if at > off && !l.raw {
			_, _ = l.Write([]byte("\n[" + strconv.FormatUint(at-off, 10) + " bytes were not kept]\n")) // a reader that has gone is met below
		}
		if n > 0 {
			off = at + uint64(n)
			if _, err := l.Write(buf[:n]); err != nil {
				return nil // the reader has gone
			}
			continue
		}
		if !open || !l.wait(ctx, changed, &open) {
			return nil
		}
	}
}

// wait sends what is buffered, then waits for more.
func (l *logWriter) wait(ctx context.Context, changed <-chan struct{}, open *bool) bool {
	if w, ok := l.w.(http.ResponseWriter); ok {
		_ = http.NewResponseController(w).Flush() // a reader that has gone is met by the next write
	}
	select {
	case _, *open = <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}

// lineEnds writes the line ends of a terminal, \r\n or a lone \r that would
// overwrite the line, as those of a text.
type lineEnds struct{ cr bool }

func (e *lineEnds) apply(p []byte) []byte {
	out := make([]byte, 0, len(p)+1)
	for _, b := range p {
		if b == '\r' {
			e.cr = true
			continue
		}
		if e.cr && b != '\n' {
			out = append(out, '\n')
		}
		e.cr = false
		out = append(out, b)
	}
	return out
}
