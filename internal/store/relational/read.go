package relational

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Get implements store.Store: a deleted one comes back with status deleted.
func (s *Store) Get(ctx context.Context, id sandbox.ID) (*sandbox.Record, error) {
	op := "get sandbox " + string(id)
	rec, err := s.one(ctx, s.reads.byID, string(id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, sandbox.Errorf(sandbox.NotFound, "%s: no such sandbox", op)
	}
	return rec, s.fail(ctx, op, err)
}

// ByKey implements store.Store. No record has the empty key.
func (s *Store) ByKey(ctx context.Context, key string) (*sandbox.Record, error) {
	const op = "get sandbox by idempotency key"
	rec, err := s.one(ctx, s.reads.byKey, key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, sandbox.Errorf(sandbox.NotFound, "%s: the key was not used", op)
	}
	return rec, s.fail(ctx, op, err)
}

// IDBases implements store.Store, lowest first.
func (s *Store) IDBases(ctx context.Context) ([]uint32, error) {
	const op = "list id ranges"
	rows, err := s.reads.idBases.QueryContext(ctx)
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var bases []uint32
	for rows.Next() {
		var base uint32
		if err := rows.Scan(&base); err != nil {
			return nil, s.fail(ctx, op, err)
		}
		bases = append(bases, base)
	}
	return bases, s.fail(ctx, op, rows.Err())
}

// one reads a row of id and record.
func (s *Store) one(ctx context.Context, stmt *sql.Stmt, arg string) (*sandbox.Record, error) {
	var id string
	var doc []byte
	if err := stmt.QueryRowContext(ctx, s.text(arg)).Scan(&id, &doc); err != nil {
		return nil, err
	}
	return s.decode(id, doc)
}

func (s *Store) decode(id string, doc []byte) (*sandbox.Record, error) {
	rec := new(sandbox.Record)
	if err := json.Unmarshal(doc, rec); err != nil {
		return nil, sandbox.Errorf(sandbox.Internal, "sandbox %s: its record in %s is unreadable: %w", id, s.Name, err).
			WithHint("the files of the sandbox are untouched; restore the database from a backup")
	}
	return rec, nil
}
