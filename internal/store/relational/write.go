package relational

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Create implements store.Store. rec.Version is 1 afterwards; the audit line
// is about rec, whatever id it came with.
func (s *Store) Create(ctx context.Context, rec *sandbox.Record, audit sandbox.AuditEntry) error {
	op := "create sandbox " + string(rec.ID)
	args, err := s.columns(rec, 1)
	if err != nil {
		return s.fail(ctx, op, err)
	}
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.StmtContext(ctx, s.writes.create).ExecContext(ctx, args...); err != nil {
			return s.conflict(ctx, op, rec, err)
		}
		return s.append(ctx, tx, about(rec, audit))
	})
	if err != nil {
		return s.fail(ctx, op, err)
	}
	rec.Version = 1
	return nil
}

// Update implements store.Store. A record that is stored as deleted is Gone:
// that state is final.
func (s *Store) Update(ctx context.Context, rec *sandbox.Record, audit sandbox.AuditEntry) error {
	op := "update sandbox " + string(rec.ID)
	args, err := s.columns(rec, rec.Version+1)
	if err != nil {
		return s.fail(ctx, op, err)
	}
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := affected(tx.StmtContext(ctx, s.writes.update).ExecContext(ctx, args...))
		if err != nil {
			return s.conflict(ctx, op, rec, err)
		}
		if n == 0 {
			return s.stale(ctx, tx, op, rec)
		}
		return s.append(ctx, tx, about(rec, audit))
	})
	if err != nil {
		return s.fail(ctx, op, err)
	}
	rec.Version++
	return nil
}

// Purge implements store.Store. Name, key and id range are free afterwards.
func (s *Store) Purge(ctx context.Context, id sandbox.ID, audit sandbox.AuditEntry) error {
	op := "purge sandbox " + string(id)
	audit.Sandbox = id
	return s.fail(ctx, op, s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := affected(tx.StmtContext(ctx, s.writes.purge).ExecContext(ctx, id))
		if err != nil {
			return err
		}
		if n == 0 {
			return sandbox.Errorf(sandbox.NotFound, "%s: no such sandbox", op)
		}
		return s.append(ctx, tx, audit)
	}))
}

// Append implements store.Store.
func (s *Store) Append(ctx context.Context, audit sandbox.AuditEntry) error {
	return s.fail(ctx, "append audit line", s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return s.append(ctx, tx, audit)
	}))
}

// write runs do in a transaction. The context can end the wait for the
// connection; from there on it is ignored, so that a write has either happened
// or not, and nobody has to ask which. What is left takes microseconds, or as
// long as the database waits for another process.
func (s *Store) write(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
	conn, err := s.Writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // goes back to the pool
	ctx, cancel := s.undisturbed(ctx)
	defer cancel()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if err := do(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.wrote()
	return nil
}

// undisturbed is ctx without its end, but for the time a server may take.
func (s *Store) undisturbed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = context.WithoutCancel(ctx)
	if s.Dialect.WriteTime == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.Dialect.WriteTime)
}

func (s *Store) wrote() {
	if s.Wrote != nil {
		s.Wrote()
	}
}

func (s *Store) append(ctx context.Context, tx *sql.Tx, a sandbox.AuditEntry) error {
	if a.At.IsZero() {
		a.At = time.Now()
	}
	var seq int64
	err := tx.StmtContext(ctx, s.writes.audit).QueryRowContext(ctx,
		a.At.UnixNano(), string(a.Sandbox), s.text(a.Name), s.text(a.Event), string(a.From), string(a.To),
		s.text(a.Actor), s.text(a.Detail)).Scan(&seq)
	if err != nil || len(a.Paths) == 0 {
		return err
	}
	// Names are raw bytes: as hexadecimal digits they pass through JSON, and all
	// of them through one statement.
	digits := make([]string, len(a.Paths))
	for i, p := range a.Paths {
		digits[i] = hex.EncodeToString([]byte(p))
	}
	list, err := json.Marshal(digits)
	if err != nil {
		return err
	}
	_, err = tx.StmtContext(ctx, s.writes.auditPaths).ExecContext(ctx, seq, s.text(a.Project), string(list))
	return err
}

func (s *Store) text(t string) string {
	if s.Dialect.Text == nil {
		return t
	}
	return s.Dialect.Text(t)
}

func about(rec *sandbox.Record, a sandbox.AuditEntry) sandbox.AuditEntry {
	a.Sandbox, a.Name = rec.ID, rec.Spec.Name
	return a
}

// columns are the parameters of insertSandbox and updateSandbox.
func (s *Store) columns(rec *sandbox.Record, version int64) ([]any, error) {
	stored := *rec
	stored.Version = version
	doc, err := json.Marshal(&stored)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return []any{
		string(rec.ID), rec.Spec.Name, string(rec.Status), s.text(rec.Spec.Owner), s.text(rec.Spec.Workspace.Source),
		s.text(rec.IdempotencyKey), int64(rec.IDBase), rec.CreatedAt.UnixNano(), version, string(doc),
	}, nil
}

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// stale tells why an update found no row to change.
func (s *Store) stale(ctx context.Context, tx *sql.Tx, op string, rec *sandbox.Record) error {
	var version int64
	var status sandbox.Status
	err := tx.QueryRowContext(ctx, s.spell(`SELECT version, status FROM sandboxes WHERE id = ?`), rec.ID).Scan(&version, &status)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return sandbox.Errorf(sandbox.NotFound, "%s: no such sandbox", op)
	case err != nil:
		return err
	case status == sandbox.Deleted:
		return sandbox.Errorf(sandbox.Gone, "%s: it is deleted", op)
	}
	return sandbox.Errorf(sandbox.Conflict, "%s: it was changed meanwhile (version %d, not %d)", op, version, rec.Version).
		WithDetail("version", version).
		WithHint("read it again and repeat the change")
}
