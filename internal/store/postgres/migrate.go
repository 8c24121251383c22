package postgres

import (
	"context"
	"database/sql"
	"embed"
	"hash/fnv"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/coop-dev/coop/internal/sandbox"
)

// migrations are the steps from an empty schema to the present one, in the
// order of their names. A step that was ever released is never edited.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate runs the steps this schema has not seen, all in one transaction: the
// server can do that also for tables. An advisory lock keeps a second daemon of
// the same node waiting instead of colliding.
func (s *Store) migrate(ctx context.Context) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, s.lockKey()); err != nil {
		return err
	}
	version, err := s.version(ctx, tx)
	if err != nil {
		return err
	}
	steps, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	if version > len(steps) {
		return sandbox.Errorf(sandbox.Unavailable, "open: database %s: schema %s is version %d and this program knows up to %d",
			s.name, s.schema, version, len(steps)).WithHint("a newer coop has used it: run that version or a later one")
	}
	if err := s.run(ctx, tx, steps, version); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *Store) run(ctx context.Context, tx *sql.Tx, steps []string, version int) error {
	for _, step := range steps[version:] {
		text, err := fs.ReadFile(migrations, step)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(text)); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE coop_schema SET version = $1`, len(steps))
	return err
}

// version reads how far the schema is, and makes it if it is not there.
func (s *Store) version(ctx context.Context, tx *sql.Tx) (int, error) {
	for _, statement := range []string{
		`CREATE SCHEMA IF NOT EXISTS ` + pgx.Identifier{s.schema}.Sanitize(),
		`CREATE TABLE IF NOT EXISTS coop_schema (version integer NOT NULL)`,
		`INSERT INTO coop_schema SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM coop_schema)`,
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return 0, err
		}
	}
	var version int
	err := tx.QueryRowContext(ctx, `SELECT version FROM coop_schema`).Scan(&version)
	return version, err
}

func (s *Store) lockKey() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.schema)) // a hash takes everything
	return int64(h.Sum64())
}
