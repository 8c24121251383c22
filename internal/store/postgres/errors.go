package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/coop-dev/coop/internal/sandbox"
)

// fail gives an error its code. It is the one place that knows what the
// server's answers mean for a person.
//
//	answer                     code         the person reads
//	08xxx, 57Pxx, no answer    unavailable  cannot be reached
//	28xxx                      unavailable  refuses the login
//	3D000                      unavailable  there is no such database
//	42501                      unavailable  may not
//	53xxx                      unavailable  out of resources (disk full)
//	context ended              timeout, or unavailable when cancelled
//	closed                     unavailable  closed
//	anything else              internal
func (s *Store) fail(ctx context.Context, op string, err error) error {
	var coded *sandbox.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	if ctx.Err() != nil {
		return ended(ctx, op)
	}
	if s.closed.Load() {
		return sandbox.Errorf(sandbox.Unavailable, "%s: database %s: closed", op, s.name)
	}
	state := sqlState(err)
	switch {
	case strings.HasPrefix(state, "28"):
		return s.unavailable(op, "the server refuses the login", err).WithHint("check user, password (~/.pgpass) and pg_hba.conf")
	case state == "3D000":
		return s.unavailable(op, "there is no such database", err).WithHint("make it with createdb")
	case state == "42501":
		return s.unavailable(op, "the user may not", err).WithHint("GRANT CREATE ON DATABASE … TO the user; Coop makes a schema %s", s.schema)
	case strings.HasPrefix(state, "53"):
		return s.unavailable(op, "the server is out of resources", err).WithHint("nothing was changed; see the server's log")
	case lost(err, state):
		return s.unavailable(op, "the server cannot be reached", err).WithHint("nothing was changed; is it running? try again")
	}
	return sandbox.Errorf(sandbox.Internal, "%s: database %s: %w", op, s.name, err)
}

// lost tells a connection that broke, or was never made, from an answer.
func lost(err error, state string) bool {
	var connect *pgconn.ConnectError
	return state == "" || strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P") || errors.As(err, &connect)
}

func (s *Store) unavailable(op, cause string, err error) *sandbox.Error {
	e := sandbox.Errorf(sandbox.Unavailable, "%s: database %s: %s", op, s.name, cause)
	e.Err = err
	return e
}

func ended(ctx context.Context, op string) error {
	code := sandbox.Unavailable
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = sandbox.Timeout
	}
	return sandbox.Errorf(code, "%s: %w", op, errors.Join(ctx.Err(), context.Cause(ctx)))
}
