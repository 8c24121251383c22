package relational

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

// List implements store.Store. A row whose record is unreadable is logged and
// left out, so that one bad row does not hide the good ones; Total counts it.
func (s *Store) List(ctx context.Context, f store.Filter) (store.Page, error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	after, err := parseCursor(f.Cursor)
	if err != nil {
		return store.Page{}, err
	}
	page, err := s.page(ctx, f, after)
	if err != nil {
		return store.Page{}, s.fail(ctx, "list sandboxes", err)
	}
	return page, nil
}

const defaultLimit = 100

// page reads rows and count in one transaction, so that they agree.
func (s *Store) page(ctx context.Context, f store.Filter, after *cursor) (store.Page, error) {
	tx, err := s.Reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return store.Page{}, err
	}
	defer tx.Rollback() //nolint:errcheck // it only read
	matching := s.conditions(f)
	rows, err := s.selectRows(ctx, tx, matching, after, f.Limit+1)
	if err != nil {
		return store.Page{}, err
	}
	page := store.Page{Total: len(rows)}
	if after != nil || len(rows) > f.Limit {
		query := `SELECT count(*) FROM sandboxes WHERE ` + matching.String()
		if err := tx.QueryRowContext(ctx, s.spell(query), matching.args...).Scan(&page.Total); err != nil {
			return store.Page{}, err
		}
	}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		page.Next = rows[f.Limit-1].cursor.String()
	}
	page.Records = s.decodeAll(ctx, rows)
	return page, nil
}

type row struct {
	cursor cursor
	doc    []byte
}

func (s *Store) selectRows(ctx context.Context, tx *sql.Tx, matching where, after *cursor, limit int) ([]row, error) {
	w := matching
	if after != nil {
		w = w.and(`(created_at, id) < (?, ?)`, after.created, after.id)
	}
	query := `SELECT created_at, id, record FROM sandboxes WHERE ` + w.String() + ` ORDER BY created_at DESC, id DESC LIMIT ?`
	found, err := tx.QueryContext(ctx, s.spell(query), append(slices.Clip(w.args), limit)...)
	if err != nil {
		return nil, err
	}
	defer found.Close() //nolint:errcheck // Err tells
	var rows []row
	for found.Next() {
		var r row
		if err := found.Scan(&r.cursor.created, &r.cursor.id, &r.doc); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, found.Err()
}

func (s *Store) decodeAll(ctx context.Context, rows []row) []*sandbox.Record {
	recs := make([]*sandbox.Record, 0, len(rows))
	for _, r := range rows {
		rec, err := s.decode(r.cursor.id, r.doc)
		if err != nil {
			s.Log.ErrorContext(ctx, "record left out of a list", "sandbox", r.cursor.id, "err", err)
			continue
		}
		recs = append(recs, rec)
	}
	return recs
}

// where is a conjunction and its parameters.
type where struct {
	terms []string
	args  []any
}

func (w where) and(term string, args ...any) where {
	return where{append(slices.Clip(w.terms), term), append(slices.Clip(w.args), args...)}
}

func (w where) String() string {
	if len(w.terms) == 0 {
		return "TRUE"
	}
	return strings.Join(w.terms, " AND ")
}

// Conditions is the text of a filter without labels, for tests of query plans.
func Conditions(f store.Filter) string { return new(Store).conditions(f).String() }

// conditions spells a filter in SQL. Asking for the status deleted asks for
// deleted ones, too.
func (s *Store) conditions(f store.Filter) (w where) {
	if !f.Deleted && f.Status != sandbox.Deleted {
		w = w.and(`status <> 'deleted'`)
	}
	if f.Status != "" {
		w = w.and(`status = ?`, string(f.Status))
	}
	if f.Owner != "" {
		w = w.and(`owner = ?`, f.Owner)
	}
	if f.Path != "" {
		w = w.and(`path <> '' AND path = ?`, f.Path)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
		w = w.and(s.Dialect.HasLabel, key, f.Labels[key])
	}
	return w
}
