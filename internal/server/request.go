package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

const (
	requestIDHeader = "X-Request-Id"
	maxRequestID    = 64
)

type requestIDKey struct{}

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// identify gives every request an id, the client's own where it is harmless in
// a log, and every answer the headers they all have.
func (s *Server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestIDHeader)
		if !visibleASCII(id, maxRequestID) {
			id = newRequestID()
		}
		w.Header().Set(requestIDHeader, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}

// visibleASCII reports whether s is 1 to max characters that print.
func visibleASCII(s string, max int) bool {
	if s == "" || len(s) > max {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' })
}

// observe counts the request as activity and logs it. The query is left out:
// it is the client's business.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.active.Add(1)
		defer s.active.Done() // last of all: when Serve returns, nothing is left to be told
		if s.cfg.Activity != nil {
			s.cfg.Activity(+1)
			defer s.cfg.Activity(-1)
		}
		begin, rec := time.Now(), &recorder{ResponseWriter: w}
		defer func() {
			s.log.LogAttrs(r.Context(), slog.LevelDebug, "request",
				slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", rec.status),
				slog.Duration("dur", time.Since(begin)), slog.String("request", requestID(r.Context())))
		}()
		next.ServeHTTP(rec, r)
	})
}

// recoverPanic keeps one bad request from ending the daemon.
func (s *Server) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			s.log.LogAttrs(r.Context(), slog.LevelError, "panic", slog.Any("err", v),
				slog.String("request", requestID(r.Context())), slog.String("stack", string(debug.Stack())))
			s.fail(w, r, sandbox.Errorf(sandbox.Internal, "internal error in request %s", requestID(r.Context())).
				WithHint("the daemon's log has the details"))
		}()
		next.ServeHTTP(w, r)
	})
}

// onlyClean answers paths with empty, . and .. elements itself: ServeMux would
// redirect them, and what it redirects to is not what the client asked for.
func (s *Server) onlyClean(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.EscapedPath()
		if clean := path.Clean(p); p != clean && (clean == "/" || p != clean+"/") {
			s.serve(noSuchPath).ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
