// Package relational is what the stores on a database with SQL have in common:
// the statements, what they mean, and the order of a transaction. What differs
// between database programs is in a Dialect; opening, migrating and explaining
// errors belong to the packages sqlite and postgres.
//
// Invariant: a change of a record and its audit line are one transaction.
package relational

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/coop-dev/coop/internal/store"
)

// Dialect is how one database program differs from another.
type Dialect struct {
	// Place is what stands for the nth parameter, from 1 on.
	Place func(n int) string
	// HasLabel is a condition with two parameters, key and value.
	HasLabel string
	// HexList selects the bytes of a JSON list of hexadecimal strings, ?3.
	HexList string
	// Unique reports whether an error is a broken uniqueness.
	Unique func(error) bool
	// Fail gives an error its code; op is "create sandbox x", and so on. Errors
	// that have one, and nil, come back as they are.
	Fail func(ctx context.Context, op string, err error) error
	// Text makes a string fit for a column of text.
	Text func(string) string
	// WriteTime bounds a transaction once it has begun; 0 does not.
	WriteTime time.Duration
}

// Config is what a store is made of.
type Config struct {
	Dialect Dialect
	Writer  *sql.DB
	Reader  *sql.DB // may be the same
	Name    string  // of the database, for messages
	Log     *slog.Logger
	Wrote   func() // called after every commit
}

// Store is a store.Store but for Close.
type Store struct {
	Config
	writes writeStatements
	reads  readStatements
}

var _ interface {
	store.Store
} = closer{}

// closer shows that nothing but Close is missing.
type closer struct{ *Store }

func (closer) Close() error { return nil }

// New prepares the statements; the schema must be there.
func New(ctx context.Context, c Config) (*Store, error) {
	s := &Store{Config: c}
	var err error
	if s.writes, err = s.prepareWrites(ctx); err != nil {
		return nil, err
	}
	s.reads, err = s.prepareReads(ctx)
	return s, err
}

// spell writes a statement as the database wants it: in the source a parameter
// is ?, counted from the left, or ?N.
func (s *Store) spell(query string) string {
	out := make([]byte, 0, len(query)+16)
	count := 0
	for i := 0; i < len(query); i++ {
		if query[i] != '?' {
			out = append(out, query[i])
			continue
		}
		n := 0
		for i+1 < len(query) && query[i+1] >= '0' && query[i+1] <= '9' {
			i++
			n = n*10 + int(query[i]-'0')
		}
		if n == 0 {
			count++
			n = count
		}
		out = append(out, s.Dialect.Place(n)...)
	}
	return string(out)
}

func (s *Store) fail(ctx context.Context, op string, err error) error {
	return s.Dialect.Fail(ctx, op, err)
}
