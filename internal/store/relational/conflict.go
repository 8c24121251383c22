package relational

import (
	"context"
	"database/sql"
	"errors"

	"github.com/coop-dev/coop/internal/sandbox"
)

// conflict turns a broken uniqueness into a Conflict that names the other
// sandbox; any other error it returns as it is. It asks beside the transaction:
// some databases answer nothing more in one that has met an error.
//
// The order matters: a repeated create breaks both key and name, and only the
// key tells the caller that the first one worked. The id is last because an
// update always finds its own.
func (s *Store) conflict(ctx context.Context, op string, rec *sandbox.Record, err error) error {
	if !s.Dialect.Unique(err) {
		return err
	}
	for _, u := range []struct {
		field, where string
		value        any
		text         string
	}{
		{"idempotencyKey", `idempotency_key = ? AND idempotency_key <> '' AND id <> ?`, s.text(rec.IdempotencyKey), "its idempotency key was used for"},
		{"name", `name = ? AND status <> 'deleted' AND id <> ?`, rec.Spec.Name, "its name belongs to"},
		{"idBase", `id_base = ? AND status <> 'deleted' AND id <> ?`, int64(rec.IDBase), "its id range belongs to"},
		{"id", `id = ? AND id = ?`, string(rec.ID), "its id belongs already to"},
	} {
		var existing string
		query := s.spell(`SELECT id FROM sandboxes WHERE ` + u.where)
		e := s.Reader.QueryRowContext(ctx, query, u.value, string(rec.ID)).Scan(&existing)
		if errors.Is(e, sql.ErrNoRows) {
			continue
		}
		if e != nil {
			return e
		}
		return sandbox.Errorf(sandbox.Conflict, "%s: %s sandbox %s", op, u.text, existing).
			WithDetail("existing", existing).WithDetail("field", u.field)
	}
	return sandbox.Errorf(sandbox.Conflict, "%s: what it asked for was taken by another sandbox that is gone again", op).
		WithHint("try again")
}
