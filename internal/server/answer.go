package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

// maxMessage bounds error texts, which may quote what the client sent.
const maxMessage = 2048

// statusError gives an error an HTTP status that its code alone does not have.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func writeJSON(w http.ResponseWriter, status int, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a client that has gone cannot be told so
	return nil
}

func noContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// fail answers with the error envelope. When part of an answer is out already
// it breaks the connection, so that the part is not taken for the whole.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	body := wireError(err)
	status := httpStatus(body.Code)
	var se *statusError
	if errors.As(err, &se) {
		status = se.status
	}
	s.logFailure(r, status, err)
	if rec, ok := w.(*recorder); ok && rec.status != 0 {
		panic(http.ErrAbortHandler)
	}
	if err := writeJSON(w, status, api.ErrorBody{Error: body}); err != nil {
		// Only details from the engine can be impossible to encode.
		body.Details = nil
		_ = writeJSON(w, status, api.ErrorBody{Error: body}) // strings always encode
	}
}

// logFailure logs what is the daemon's fault. A client that went away, a base
// that nobody built and an endpoint that is not there yet are not.
func (s *Server) logFailure(r *http.Request, status int, err error) {
	if status < http.StatusInternalServerError || status == http.StatusNotImplemented || errors.Is(err, context.Canceled) || awaitsBuild(err) {
		return
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "request failed",
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", status),
		slog.String("request", requestID(r.Context())), slog.Any("err", err))
}

// wireError is an error as the API shows it. An error nobody gave a code is
// internal, unless it says that time ran out.
func wireError(err error) api.Error {
	var e *sandbox.Error
	out := api.Error{Code: api.CodeInternal}
	switch {
	case errors.As(err, &e):
		out = api.Error{Code: string(e.Code), Hint: e.Hint, Details: e.Details}
	case errors.Is(err, context.DeadlineExceeded):
		out.Code = api.CodeTimeout
	case errors.Is(err, errClosing):
		out.Code = api.CodeUnavailable
	}
	out.Message = shorten(err.Error(), maxMessage)
	return out
}

func httpStatus(code string) int {
	for _, c := range api.Codes() {
		if c.Code == code {
			return c.HTTP
		}
	}
	return http.StatusInternalServerError
}

func shorten(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "…"
}
