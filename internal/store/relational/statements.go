package relational

import (
	"context"
	"database/sql"
)

// Statements are prepared once at start: parsing one costs about as much as
// running it.
type writeStatements struct {
	create, update, purge, audit, auditPaths *sql.Stmt
}

type readStatements struct {
	byID, byName, byPrefix, byKey *sql.Stmt
	idBases, audit, auditOf       *sql.Stmt
	auditFile                     *sql.Stmt
}

const (
	insertSandbox = `
INSERT INTO sandboxes (id, name, status, owner, path, idempotency_key, id_base, created_at, version, record)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`

	// The parameters are those of the insert, and the version is the new one.
	updateSandbox = `
UPDATE sandboxes SET name = ?2, status = ?3, owner = ?4, path = ?5, idempotency_key = ?6, id_base = ?7,
	created_at = ?8, version = ?9, record = ?10
WHERE id = ?1 AND version = ?9 - 1 AND status <> 'deleted'`

	insertAudit = `
INSERT INTO audit (at, sandbox, name, event, from_status, to_status, actor, detail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`

	selectAudit = `SELECT seq, at, sandbox, name, event, from_status, to_status, actor, detail FROM audit `
)

func (s *Store) prepareWrites(ctx context.Context) (w writeStatements, err error) {
	err = s.prepare(ctx, s.Writer, map[**sql.Stmt]string{
		&w.create: insertSandbox,
		&w.update: updateSandbox,
		&w.purge:  `DELETE FROM sandboxes WHERE id = ?`,
		&w.audit:  insertAudit,
		&w.auditPaths: `INSERT INTO audit_paths (project, path, seq)
			SELECT ?2, names.name, ?1 FROM (` + s.Dialect.HexList + `) AS names WHERE true ON CONFLICT DO NOTHING`,
	})
	return w, err
}

func (s *Store) prepareReads(ctx context.Context) (r readStatements, err error) {
	err = s.prepare(ctx, s.Reader, map[**sql.Stmt]string{
		&r.byID:   `SELECT id, record FROM sandboxes WHERE id = ?`,
		&r.byName: `SELECT id, record FROM sandboxes WHERE name = ? AND status <> 'deleted'`,
		&r.byPrefix: `SELECT id, name, status <> 'deleted' FROM sandboxes WHERE id >= ?1 AND id < ?2
			ORDER BY status = 'deleted', id LIMIT ?3`,
		&r.byKey:   `SELECT id, record FROM sandboxes WHERE idempotency_key = ? AND idempotency_key <> ''`,
		&r.idBases: `SELECT id_base FROM sandboxes WHERE status <> 'deleted' AND id_base <> 0 ORDER BY id_base`,
		&r.audit:   selectAudit + `ORDER BY seq DESC LIMIT ?`,
		&r.auditOf: selectAudit + `WHERE sandbox = ? ORDER BY seq DESC LIMIT ?`,
		&r.auditFile: selectAudit + `WHERE seq IN (SELECT seq FROM audit_paths WHERE project = ?1 AND path = ?2
			ORDER BY seq DESC LIMIT ?3) ORDER BY seq DESC`,
	})
	return r, err
}

func (s *Store) prepare(ctx context.Context, db *sql.DB, queries map[**sql.Stmt]string) (err error) {
	for stmt, query := range queries {
		if *stmt, err = db.PrepareContext(ctx, s.spell(query)); err != nil {
			return err
		}
	}
	return nil
}
