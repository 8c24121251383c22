package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coop-dev/coop/api"
)

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	shutdownGrace     = 5 * time.Second

	defaultMaxFileBytes = 1 << 30
)

// errClosing is the cause with which requests end when the daemon shuts down.
var errClosing = errors.New("the daemon is shutting down")

// Config is what a Server needs. Only Engine, PeerUID and Allow are necessary;
// without the last two every request is denied.
type Config struct {
	Engine    Engine
	Terminals Terminals                                // nil: unsupported
	Images    Images                                   // nil: unsupported
	Bases     Bases                                    // nil: unsupported
	PeerUID   func(*net.UnixConn) (uid int, err error) // SO_PEERCRED
	Allow     func(uid int) bool                       // whether that uid, as this process sees it, owns the daemon

	// HostUID is what a uid this process sees is called on the host, for audit
	// lines: in a user namespace everybody is 0 to himself. Nil: the same.
	HostUID func(uid int) int

	Version  api.Version
	Doctor   func(context.Context) ([]api.Check, error) // probes the host; nil: unsupported
	Checks   func() []api.Check                         // what was found at start, for /health; cheap
	Shutdown func(keep bool)                            // stops the sandboxes unless they are kept, and ends the daemon a moment later
	Activity func(delta int)                            // +1 and -1 around every request, attach included

	MaxFileBytes int64 // of one PUT; default 1 GiB
	Log          *slog.Logger
}

// Server answers requests. One Server serves until the context of Serve ends,
// and is then used up.
type Server struct {
	cfg     Config
	log     *slog.Logger
	openAPI []byte
	handler http.Handler

	closing  context.Context // done when Serve's context is; cause errClosing
	close    context.CancelCauseFunc
	attached attachments
	pinging  pinging
	active   sync.WaitGroup // requests under way; http.Server does not count hijacked ones
}

// New builds a server; it listens to nothing yet.
func New(cfg Config) *Server {
	if cfg.MaxFileBytes == 0 {
		cfg.MaxFileBytes = defaultMaxFileBytes
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, log: cfg.Log, openAPI: openAPI(cfg.Version.Version), pinging: usualPinging()}
	s.closing, s.close = context.WithCancelCause(context.Background())
	s.handler = s.identify(s.observe(s.recoverPanic(s.authorize(s.onlyClean(s.mux())))))
	return s
}

// Handler is everything Serve serves. Without the connection context that
// Serve gives it, it denies every request.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers on ln until ctx ends, then lets requests end and returns.
// Running commands are left running; their clients are told.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	hs := &http.Server{
		Handler:                      s.handler,
		ReadHeaderTimeout:            readHeaderTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		ConnContext:                  s.withPeer,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true,
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	select {
	case err := <-served:
		s.close(errClosing)
		return errors.Join(err, s.drain(hs))
	case <-ctx.Done():
		s.close(errClosing)
		err := s.drain(hs)
		<-served
		return err
	}
}

func (s *Server) drain(hs *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	err := hs.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = hs.Close()
	}
	s.active.Wait()
	return err
}
