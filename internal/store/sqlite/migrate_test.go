package sqlite

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/coop-dev/coop/internal/store"
	"github.com/coop-dev/coop/internal/store/relational"
)

// withStep is the real migrations and one that comes after them.
func withStep(t *testing.T, text string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{"migrations/9999_next.sql": {Data: []byte(text)}}
	for _, m := range released(t) {
		data, err := migrations.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		files[m.file] = &fstest.MapFile{Data: data}
	}
	return files
}

func released(t *testing.T) []migration {
	t.Helper()
	steps, err := migrationsIn(migrations)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func newest(t *testing.T) int {
	t.Helper()
	steps := released(t)
	return steps[len(steps)-1].version
}

func wantVersion(t *testing.T, s *Store, want int) {
	t.Helper()
	if h, err := readHeader(t.Context(), s.writer); err != nil || h.version != want || !h.ours() {
		t.Fatalf("header %+v, %v; want version %d", h, err, want)
	}
}

func TestMigrateFromOlder(t *testing.T) {
	s := reopen(t, filepath.Join(t.TempDir(), "coop.db"))
	rec := put(t, s, 1)
	wantVersion(t, s, newest(t))
	files := withStep(t, `ALTER TABLE sandboxes ADD COLUMN shelf TEXT NOT NULL DEFAULT 'top'; UPDATE sandboxes SET shelf = name;`)
	for range 2 { // the second time there is nothing to do
		if err := s.migrate(t.Context(), files); err != nil {
			t.Fatal(err)
		}
	}
	wantVersion(t, s, 9999)
	wantSame(t, s, rec)
	var shelf string
	if err := s.writer.QueryRow(`SELECT shelf FROM sandboxes`).Scan(&shelf); err != nil || shelf != rec.Spec.Name {
		t.Errorf("shelf %q, %v", shelf, err)
	}
}

func TestMigrateIsAllOrNothing(t *testing.T) {
	s := reopen(t, filepath.Join(t.TempDir(), "coop.db"))
	rec := put(t, s, 1)
	err := s.migrate(t.Context(), withStep(t, `DELETE FROM sandboxes; CREATE TABLE half (a); CREATE TABLE half (a);`))
	if err == nil {
		t.Fatal("a broken step passed")
	}
	wantVersion(t, s, newest(t))
	wantSame(t, s, rec)
	if _, err := s.writer.Exec(`CREATE TABLE half (a)`); err != nil {
		t.Errorf("the half step is still there: %v", err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coop.db")
	s := reopen(t, path)
	if err := s.migrate(t.Context(), withStep(t, `SELECT 1;`)); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	_, err := Open(t.Context(), path, Options{})
	wantUnavailable(t, err, fmt.Sprintf("its schema is version 9999 and this program knows up to %d", newest(t)), "a newer coop")
}

func TestDatabaseOfAnotherProgramIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"application": `PRAGMA application_id = 7`,
		"version":     `PRAGMA user_version = 1`,
		"table":       `CREATE TABLE urls (url)`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "other.db")
			db, err := pool(path, 1, 0, url.Values{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			_, err = Open(t.Context(), path, Options{})
			wantUnavailable(t, err, "belongs to another program", path)
		})
	}
}

// TestCrashBeforeSchema is a file that was made and never filled.
func TestCrashBeforeSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coop.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, reopen(t, path), 1)
}

// TestPlans checks that what is asked often is answered by an index.
func TestPlans(t *testing.T) {
	s := reopen(t, filepath.Join(t.TempDir(), "coop.db"))
	for query, index := range map[string]string{
		`SELECT id FROM sandboxes WHERE name = 'a' AND status <> 'deleted'`:                                              "live_name",
		`SELECT id FROM sandboxes WHERE idempotency_key = 'a' AND idempotency_key <> ''`:                                 "used_key",
		`SELECT id_base FROM sandboxes WHERE status <> 'deleted' AND id_base <> 0 ORDER BY id_base`:                      "live_id_base",
		`SELECT id FROM sandboxes WHERE ` + relational.Conditions(store.Filter{}) + ` ORDER BY created_at DESC, id DESC`: "live_newest",
		`SELECT id FROM sandboxes WHERE ` + relational.Conditions(store.Filter{Path: "/a"}):                              "live_path",
		`SELECT seq FROM audit WHERE sandbox = 'a' ORDER BY seq DESC`:                                                    "audit_of",
	} {
		if plan := explain(t, s, query); !strings.Contains(plan, index) {
			t.Errorf("%s\n\tdoes not use %s: %s", query, index, plan)
		}
	}
}

func explain(t *testing.T, s *Store, query string) (plan string) {
	t.Helper()
	rows, err := s.reader.Query(`EXPLAIN QUERY PLAN `+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		plan += line + "; "
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}
