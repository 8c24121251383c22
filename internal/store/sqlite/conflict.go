package sqlite

import (
	"context"
	"database/sql"
	"errors"

	lib "modernc.org/sqlite/lib"

	"github.com/coop-dev/coop/internal/sandbox"
)

// conflict turns a broken uniqueness into a Conflict that names the other
// sandbox; any other error it returns as it is. Inside the transaction that
// met it the other row cannot go away.
//
// The order matters: a repeated create breaks both key and name, and only the
// key tells the caller that the first one worked. The id is last because an
// update always finds its own.
func (s *Store) conflict(ctx context.Context, tx *sql.Tx, op string, rec *sandbox.Record, err error) error {
	if result(err) != lib.SQLITE_CONSTRAINT {
		return err
	}
	for _, u := range []struct {
		field, where string
		value        any
		text         string
	}{
		{"idempotencyKey", `idempotency_key = ? AND idempotency_key <> '' AND id <> ?`, rec.IdempotencyKey, "its idempotency key was used for"},
		{"name", `name = ? AND status <> 'deleted' AND id <> ?`, rec.Spec.Name, "its name belongs to"},
		{"idBase", `id_base = ? AND status <> 'deleted' AND id <> ?`, int64(rec.IDBase), "its id range belongs to"},
		{"id", `id = ? AND id = ?`, string(rec.ID), "its id belongs already to"},
	} {
		var existing string
		e := tx.QueryRowContext(ctx, `SELECT id FROM sandboxes WHERE `+u.where, u.value, string(rec.ID)).Scan(&existing)
		if errors.Is(e, sql.ErrNoRows) {
			continue
		}
		if e != nil {
			return e
		}
		return sandbox.Errorf(sandbox.Conflict, "%s: %s sandbox %s", op, u.text, existing).
			WithDetail("existing", existing).WithDetail("field", u.field)
	}
	return err
}
