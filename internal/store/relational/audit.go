package relational

import (
	"context"
	"database/sql"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Audit implements store.Store. A limit of zero is 100; times come back in UTC.
func (s *Store) Audit(ctx context.Context, id sandbox.ID, limit int) ([]sandbox.AuditEntry, error) {
	if limit <= 0 {
		limit = defaultLimit
	}
	entries, err := s.audit(ctx, id, limit)
	if err != nil {
		return nil, s.fail(ctx, "read audit lines", err)
	}
	return entries, nil
}

func (s *Store) audit(ctx context.Context, id sandbox.ID, limit int) ([]sandbox.AuditEntry, error) {
	rows, err := s.queryAudit(ctx, id, limit)
	if err != nil {
		return nil, err
	}
	return scanAudit(rows)
}

// AuditOf implements store.Store.
func (s *Store) AuditOf(ctx context.Context, project, path string, limit int) ([]sandbox.AuditEntry, error) {
	if limit <= 0 {
		limit = defaultLimit
	}
	rows, err := s.reads.auditFile.QueryContext(ctx, s.text(project), []byte(path), limit)
	if err != nil {
		return nil, s.fail(ctx, "read audit lines", err)
	}
	entries, err := scanAudit(rows)
	return entries, s.fail(ctx, "read audit lines", err)
}

func scanAudit(rows *sql.Rows) ([]sandbox.AuditEntry, error) {
	defer rows.Close() //nolint:errcheck // Err tells
	var entries []sandbox.AuditEntry
	for rows.Next() {
		var a sandbox.AuditEntry
		var at int64
		if err := rows.Scan(&a.Seq, &at, &a.Sandbox, &a.Name, &a.Event, &a.From, &a.To, &a.Actor, &a.Detail); err != nil {
			return nil, err
		}
		a.At = time.Unix(0, at).UTC()
		entries = append(entries, a)
	}
	return entries, rows.Err()
}

func (s *Store) queryAudit(ctx context.Context, id sandbox.ID, limit int) (*sql.Rows, error) {
	if id == "" {
		return s.reads.audit.QueryContext(ctx, limit)
	}
	return s.reads.auditOf.QueryContext(ctx, string(id), limit)
}
