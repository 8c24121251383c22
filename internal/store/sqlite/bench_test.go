package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

func box(n int) *sandbox.Record {
	now := time.Now()
	return &sandbox.Record{
		ID: sandbox.ID(fmt.Sprintf("%012xbench%07d", now.UnixMilli(), n)),
		Spec: sandbox.Spec{
			Name: fmt.Sprintf("box-%d", n), Image: sandbox.DefaultImage, Network: sandbox.NetworkNone, Owner: "uid:1000",
			Workspace: sandbox.Workspace{Source: "/home/somebody/project", Mode: sandbox.ModeOverlay, Path: "/workspace"},
			Security:  sandbox.Security{Seccomp: "default"}, Agent: sandbox.Agent{User: "root"},
			Labels: map[string]string{"team": "red"},
		},
		Status: sandbox.Creating, ReviewStatus: sandbox.ReviewPending, Driver: "namespace",
		IDBase: uint32(1<<16 + n), IdempotencyKey: fmt.Sprintf("key-%d", n), CreatedAt: now, UpdatedAt: now,
	}
}

// filled is a store with 1000 live sandboxes, which is a busy host.
func filled(b *testing.B) (*Store, []*sandbox.Record) {
	b.Helper()
	s := reopen(b, filepath.Join(b.TempDir(), "coop.db"))
	recs := make([]*sandbox.Record, 1000)
	for n := range recs {
		recs[n] = box(n)
		if err := s.Create(b.Context(), recs[n], sandbox.AuditEntry{Event: "create"}); err != nil {
			b.Fatal(err)
		}
	}
	return s, recs
}

func BenchmarkCreate(b *testing.B) {
	s, recs := filled(b)
	for n := 0; b.Loop(); n++ {
		if err := s.Create(b.Context(), box(len(recs)+n), sandbox.AuditEntry{Event: "create", To: sandbox.Creating}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	s, recs := filled(b)
	for n := 0; b.Loop(); n++ {
		rec := recs[n%len(recs)]
		rec.Status = sandbox.Running
		if err := s.Update(b.Context(), rec, sandbox.AuditEntry{Event: "transition", To: sandbox.Running}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLife is what one sandbox costs: made, running, deleted.
func BenchmarkLife(b *testing.B) {
	s, recs := filled(b)
	for n := 0; b.Loop(); n++ {
		rec := box(len(recs) + n)
		err := s.Create(b.Context(), rec, sandbox.AuditEntry{Event: "create", To: sandbox.Creating})
		for _, to := range []sandbox.Status{sandbox.Running, sandbox.Deleted} {
			rec.Status = to
			if err == nil {
				err = s.Update(b.Context(), rec, sandbox.AuditEntry{Event: "transition", To: to})
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	s, recs := filled(b)
	for n := 0; b.Loop(); n++ {
		if _, err := s.Get(b.Context(), recs[n%len(recs)].ID); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolveName(b *testing.B) {
	s, recs := filled(b)
	for n := 0; b.Loop(); n++ {
		if _, err := s.Resolve(b.Context(), recs[n%len(recs)].Spec.Name); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList100(b *testing.B) {
	s, _ := filled(b)
	for b.Loop() {
		if _, err := s.List(b.Context(), store.Filter{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListLabel(b *testing.B) {
	s, _ := filled(b)
	for b.Loop() {
		if _, err := s.List(b.Context(), store.Filter{Labels: map[string]string{"team": "blue"}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen opens a database that exists and is up to date.
func BenchmarkOpen(b *testing.B) {
	s, _ := filled(b)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		again, err := Open(b.Context(), s.path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
