package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"

	"github.com/coop-dev/coop/internal/sandbox"
)

type peerKey struct{}

// peer is who is at the other end of a connection, as the kernel says.
type peer struct {
	uid     int // as the host counts
	allowed bool
}

func (p peer) String() string { return "uid:" + strconv.Itoa(p.uid) }

// withPeer asks the kernel once a connection. What it cannot tell is denied.
func (s *Server) withPeer(ctx context.Context, c net.Conn) context.Context {
	p, err := s.identifyPeer(c)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "peer unknown", slog.Any("err", err))
	}
	return context.WithValue(ctx, peerKey{}, p)
}

func (s *Server) identifyPeer(c net.Conn) (peer, error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return peer{uid: -1}, fmt.Errorf("peer of a %T has no uid", c)
	}
	if s.cfg.PeerUID == nil || s.cfg.Allow == nil {
		return peer{uid: -1}, errors.New("no way to tell peers apart is configured")
	}
	uid, err := s.cfg.PeerUID(uc)
	if err != nil {
		return peer{uid: -1}, fmt.Errorf("peer uid: %w", err)
	}
	p := peer{uid: uid, allowed: s.cfg.Allow(uid)}
	if s.cfg.HostUID != nil {
		p.uid = s.cfg.HostUID(uid)
	}
	return p, nil
}

// authorize lets only the daemon's own user in: on the unix socket the peer's
// uid is the authority.
func (s *Server) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, _ := r.Context().Value(peerKey{}).(peer); !p.allowed {
			s.fail(w, r, sandbox.Errorf(sandbox.Denied, "this daemon belongs to another user").
				WithHint("run coop as the user who started the daemon, or with your own --home"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// actor is how the audit names the client.
func actor(r *http.Request) string {
	p, _ := r.Context().Value(peerKey{}).(peer)
	return p.String()
}
