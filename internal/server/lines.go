package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/coop-dev/coop/api"
)

// streamLines answers with one JSON object a line while work goes on. An error
// before the first line is an ordinary answer; afterwards it is the last line, as
// failed writes it. A client that goes away ends the work, and so does the daemon
// when it shuts down.
func (s *Server) streamLines(
	w http.ResponseWriter, r *http.Request,
	work func(context.Context, *eventLines) (last any, err error), failed func(*api.Error) any,
) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	stop := context.AfterFunc(s.closing, func() { cancel(errClosing) })
	defer stop()
	out := &eventLines{w: w, rc: http.NewResponseController(w)}
	last, err := work(ctx, out)
	if err != nil && !out.begun {
		return err
	}
	if err != nil {
		e := wireError(err)
		s.logFailure(r, httpStatus(e.Code), err)
		last = failed(&e)
	}
	out.write(last)
	return nil
}

// eventLines writes the lines.
type eventLines struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	begun bool
}

func (l *eventLines) write(event any) {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", "application/x-ndjson")
		l.w.Header().Set("Cache-Control", "no-store")
		l.w.WriteHeader(http.StatusOK)
	}
	b, err := json.Marshal(event)
	if err != nil {
		return // events are plain strings and numbers, which always encode
	}
	_, _ = l.w.Write(append(b, '\n')) // a client that has gone ends the context
	_ = l.rc.Flush()
}
