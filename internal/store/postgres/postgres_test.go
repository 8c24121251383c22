package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
	"github.com/coop-dev/coop/internal/store/storetest"
	"github.com/coop-dev/coop/test/pgserver"
)

// One server for all tests: starting one takes seconds.
var shared *pgserver.Server //nolint:gochecknoglobals // see above

func TestMain(m *testing.M) {
	var err error
	if shared, err = pgserver.New(); err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		if os.Getenv("CI") != "" {
			os.Exit(1)
		}
		os.Exit(0) // said above; only CI insists
	}
	code := m.Run()
	shared.Remove()
	os.Exit(code)
}

var nodes atomic.Int64 //nolint:gochecknoglobals // every test its own schema

func freshNode() string { return fmt.Sprintf("test%d", nodes.Add(1)) }

func open(t *testing.T, node string) *Store {
	t.Helper()
	s, err := Open(t.Context(), shared.URL(), Options{Node: node})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, freshNode()) })
}

func box(name string) *sandbox.Record {
	now := time.Now()
	return &sandbox.Record{
		ID:     sandbox.ID(fmt.Sprintf("%024x", nodes.Add(1))),
		Spec:   sandbox.Spec{Name: name, Image: sandbox.DefaultImage, Network: sandbox.NetworkNone},
		Status: sandbox.Creating, ReviewStatus: sandbox.ReviewPending, CreatedAt: now, UpdatedAt: now,
	}
}

func put(t *testing.T, s *Store, rec *sandbox.Record) {
	t.Helper()
	if err := s.Create(t.Context(), rec, sandbox.AuditEntry{Event: "create"}); err != nil {
		t.Fatal(err)
	}
}

// TestTwoDaemons: the same name in two nodes is two sandboxes, and neither sees
// the other's.
func TestTwoDaemons(t *testing.T) {
	a, b := open(t, freshNode()), open(t, freshNode())
	one, two := box("same"), box("same")
	put(t, a, one)
	put(t, b, two)
	for s, want := range map[*Store]*sandbox.Record{a: one, b: two} {
		page, err := s.List(t.Context(), store.Filter{})
		if err != nil || page.Total != 1 || page.Records[0].ID != want.ID {
			t.Errorf("%+v, %v", page, err)
		}
	}
	if _, err := a.Get(t.Context(), two.ID); sandbox.CodeOf(err) != sandbox.NotFound {
		t.Errorf("the other node's sandbox: %v", err)
	}
}

// TestFirstStartAtOnce: the same node opened many times at once has its schema
// made once.
func TestFirstStartAtOnce(t *testing.T) {
	node := freshNode()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := Open(t.Context(), shared.URL(), Options{Node: node})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	put(t, open(t, node), box("after"))
}

func TestItOutlivesTheStore(t *testing.T) {
	node := freshNode()
	rec := box("kept")
	first := open(t, node)
	put(t, first, rec)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, node).Resolve(t.Context(), "kept")
	if err != nil || got.ID != rec.ID {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestReconnects: a server that went away makes requests unavailable, and one
// that came back is used again without a new store.
func TestReconnects(t *testing.T) {
	own, err := pgserver.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Remove)
	s, err := Open(t.Context(), own.URL(), Options{Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put(t, s, box("before"))
	if err := own.Stop(); err != nil {
		t.Fatal(err)
	}
	err = s.Create(t.Context(), box("during"), sandbox.AuditEntry{Event: "create"})
	if sandbox.CodeOf(err) != sandbox.Unavailable || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("without a server: %v", err)
	}
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	put(t, s, box("after"))
	page, err := s.List(t.Context(), store.Filter{})
	if err != nil || page.Total != 2 {
		t.Errorf("%d sandboxes, %v", page.Total, err)
	}
}

// TestNewerSchema is refused, not touched.
func TestNewerSchema(t *testing.T) {
	node := freshNode()
	s := open(t, node)
	if _, err := s.writer.ExecContext(t.Context(), `UPDATE coop_schema SET version = 99`); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), shared.URL(), Options{Node: node})
	if sandbox.CodeOf(err) != sandbox.Unavailable || !strings.Contains(err.Error(), "version 99") {
		t.Error(err)
	}
}

// TestNoSecretsInErrors: a password given in the address is in no message.
func TestNoSecretsInErrors(t *testing.T) {
	for _, url := range []string{
		"postgres://coop:hush-hush@/nowhere?host=" + filepath.Join(t.TempDir()),
		"postgres://coop:hush-hush@[bad",
		"postgres://coop:hush-hush@127.0.0.1:1/x",
	} {
		_, err := Open(t.Context(), url, Options{Node: "n"})
		if err == nil {
			t.Fatal("it opened")
		}
		e, ok := err.(*sandbox.Error) //nolint:errorlint // a store returns coded errors unwrapped
		if !ok || strings.Contains(e.Error()+e.Hint, "hush") {
			t.Errorf("%v", err)
		}
	}
}

// TestHostileText: what PostgreSQL cannot hold must not break an audit line.
func TestHostileText(t *testing.T) {
	s := open(t, freshNode())
	if err := s.Append(t.Context(), sandbox.AuditEntry{Event: "exec", Detail: "a\x00b\xff"}); err != nil {
		t.Fatal(err)
	}
	lines, err := s.Audit(t.Context(), "", 1)
	if err != nil || len(lines) != 1 || lines[0].Detail != "a�b�" {
		t.Errorf("%+v, %v", lines, err)
	}
}

// TestPooled: more requests at once than connections all succeed.
func TestPooled(t *testing.T) {
	s := open(t, freshNode())
	var wg sync.WaitGroup
	for n := range 100 {
		wg.Go(func() {
			if err := s.Create(t.Context(), box(fmt.Sprintf("box-%d", n)), sandbox.AuditEntry{Event: "create"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var count int
	if err := s.writer.QueryRowContext(t.Context(), `SELECT count(*) FROM audit`).Scan(&count); err != nil || count != 100 {
		t.Errorf("%d audit lines, %v", count, err)
	}
	if open := s.writer.Stats().OpenConnections; open > connections {
		t.Errorf("%d connections", open)
	}
}
