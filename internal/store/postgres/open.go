// Package postgres keeps records and audit lines on a PostgreSQL server, for
// those who back one up already or run several daemons. Every daemon has a
// schema of its own in the database, named after its node: two daemons on one
// database never see, and so never harm, each other's sandboxes.
//
// Invariant: nothing is read or written outside of that schema.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
	"github.com/coop-dev/coop/internal/store/relational"
)

// Options tune a store.
type Options struct {
	// Node tells this daemon from others on the same database: lower-case
	// letters, digits and underscores.
	Node string
	// Logger hears of rows that a list had to leave out. Nil is silence.
	Logger *slog.Logger
}

// Store is a store.Store on a server. It may be used by many goroutines.
type Store struct {
	*relational.Store
	writer *sql.DB
	reader *sql.DB // its own pool: a write that meets a conflict asks here who the other is
	name   string  // host and database, without a password
	schema string
	closed atomic.Bool
	close  func() error
}

var _ store.Store = (*Store)(nil)

const (
	connections = 6                // of each pool: a daemon's requests are small and few
	connectTime = 10 * time.Second // for one attempt; a dead server must not hang a command
	writeTime   = 30 * time.Second
	idleTime    = 5 * time.Minute // firewalls forget connections that are older
)

// Open connects to the server that url names, makes this node's schema if it is
// missing and brings it up to date. Connections that break later are made anew
// by themselves; a request that meets a server that is away is Unavailable.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	s := &Store{schema: "coop_" + o.Node}
	s.close = sync.OnceValue(func() error { s.closed.Store(true); return s.shut() })
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, s.badURL()
	}
	s.name = shownName(config)
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime
	}
	config.RuntimeParams["search_path"] = s.schema
	config.RuntimeParams["application_name"] = "coop"
	s.writer, s.reader = pool(config), pool(config)
	if err := s.prepare(ctx, o.Logger); err != nil {
		err = s.fail(ctx, "open", err)
		_ = s.close() // the first error is the one that explains
		return nil, err
	}
	return s, nil
}

// pool makes connections on demand; none is opened yet.
func pool(config *pgx.ConnConfig) *sql.DB {
	db := stdlib.OpenDB(*config, stdlib.OptionShouldPing(stale))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(idleTime)
	return db
}

// stale asks for a sign of life from a connection that was not used just now:
// the server may have been restarted, and then another one is made without
// anybody noticing.
func stale(_ context.Context, p stdlib.ShouldPingParams) bool {
	return p.IdleDuration > 50*time.Millisecond
}

func (s *Store) prepare(ctx context.Context, log *slog.Logger) (err error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	s.Store, err = relational.New(ctx, relational.Config{
		Dialect: s.dialect(), Writer: s.writer, Reader: s.reader, Name: s.name, Log: log,
	})
	return err
}

// shownName is what messages call the database: a URL may hold a password.
func shownName(c *pgx.ConnConfig) string {
	host := c.Host
	if !strings.HasPrefix(host, "/") {
		host = net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
	}
	return c.Database + " on " + host
}

// badURL does not repeat what was given, for the same reason.
func (s *Store) badURL() error {
	return sandbox.Errorf(sandbox.Invalid, "store: not a PostgreSQL address").
		WithHint("write it as postgres://user@host:5432/database; a password belongs into ~/.pgpass")
}

// Close waits for what is under way and lets go of the server.
func (s *Store) Close() error { return s.close() }

func (s *Store) shut() error {
	if s.writer == nil {
		return nil
	}
	return errors.Join(s.writer.Close(), s.reader.Close())
}
