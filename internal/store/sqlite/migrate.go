package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/coop-dev/coop/internal/sandbox"
)

// migrations are the steps from an empty file to the present schema, in the
// order of their numbers. A step that was ever released is never edited.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID is in the header of every database of ours ("coop" in ASCII),
// so that a file of some other program is refused instead of extended.
const applicationID = 0x636f6f70

type migration struct {
	version int
	file    string
}

// header is what SQLite keeps in the first page for the application: reading
// it costs no table and no query plan, and writing it is transactional.
type header struct {
	application, version int
	empty                bool // no tables yet
}

func (h header) ours() bool {
	return h.application == applicationID || h == header{empty: true}
}

// migrate runs the steps the database has not seen, each in a transaction of
// its own together with the new version number.
func (s *Store) migrate(ctx context.Context, files fs.FS) error {
	steps, err := migrationsIn(files)
	if err != nil {
		return err
	}
	h, err := readHeader(ctx, s.writer)
	if err != nil {
		return err
	}
	if err := s.checkHeader(h, steps[len(steps)-1].version); err != nil {
		return err
	}
	for _, m := range steps {
		if m.version <= h.version {
			continue
		}
		if err := s.step(ctx, files, m); err != nil {
			return fmt.Errorf("migration %s: %w", path.Base(m.file), err)
		}
	}
	return nil
}

func (s *Store) checkHeader(h header, newest int) error {
	if !h.ours() {
		return sandbox.Errorf(sandbox.Unavailable, "open: database %s: it belongs to another program", s.path).
			WithHint("point coop at another file, or move %s aside", s.path)
	}
	if h.version > newest {
		return sandbox.Errorf(sandbox.Unavailable,
			"open: database %s: its schema is version %d and this program knows up to %d", s.path, h.version, newest).
			WithHint("a newer coop has used it: run that version or a later one")
	}
	return nil
}

// step looks at the version again, inside the transaction: another process
// may have run the same step while this one waited for the lock.
func (s *Store) step(ctx context.Context, files fs.FS, m migration) error {
	text, err := fs.ReadFile(files, m.file)
	if err != nil {
		return err
	}
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	h, err := readHeader(ctx, tx)
	if err != nil || h.version >= m.version {
		return err
	}
	mark := fmt.Sprintf("\n;PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, m.version)
	if _, err := tx.ExecContext(ctx, string(text)+mark); err != nil {
		return err
	}
	return tx.Commit()
}

func readHeader(ctx context.Context, q queryer) (h header, err error) {
	const query = `SELECT a.application_id, v.user_version, NOT EXISTS (SELECT 1 FROM sqlite_schema)
		FROM pragma_application_id a, pragma_user_version v`
	err = q.QueryRowContext(ctx, query).Scan(&h.application, &h.version, &h.empty)
	return h, err
}

// queryer is a database or a transaction on it.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func migrationsIn(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var steps []migration
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("migration %s: no number in its name: %w", name, err)
		}
		steps = append(steps, migration{version, name})
	}
	slices.SortFunc(steps, func(a, b migration) int { return cmp.Compare(a.version, b.version) })
	return steps, nil
}
