package storetest

import (
	"strings"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

func resolveTests() map[string]func(*testing.T, store.Store) {
	return map[string]func(*testing.T, store.Store){
		"resolve by name, id and prefix": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			create(t, s, record(2))
			for _, ref := range []string{rec.Spec.Name, string(rec.ID), string(rec.ID[:8])} {
				found(t, s, ref, rec)
			}
		},
		"resolve prefers a name over an id, and an id over a prefix": func(t *testing.T, s store.Store) {
			first, second, third := record(1), record(2), record(3)
			second.Spec.Name = string(first.ID)
			third.ID = first.ID + "b"
			create(t, s, first)
			found(t, s, string(create(t, s, third).ID), third)
			found(t, s, string(first.ID), first)
			create(t, s, second)
			found(t, s, string(first.ID), second)
		},
		"resolve an ambiguous prefix": func(t *testing.T, s store.Store) {
			create(t, s, record(0x11))
			create(t, s, record(0x12))
			become(t, s, create(t, s, record(0x13)), sandbox.Deleted)
			create(t, s, record(0x21))
			_, err := s.Resolve(t.Context(), "1000001")
			wantDetail(t, err, sandbox.Invalid, "candidates", []string{string(numbered(0x11)), string(numbered(0x12))})
		},
		"resolve a prefix of many": func(t *testing.T, s store.Store) {
			for n := range 40 {
				create(t, s, record(n))
			}
			_, err := s.Resolve(t.Context(), "1000")
			if e := wantCode(t, err, sandbox.Invalid); len(e.Message) > 1000 {
				t.Errorf("a message of %d bytes", len(e.Message))
			}
		},
		"resolve a prefix that one live and one deleted have": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(0x11))
			become(t, s, create(t, s, record(0x12)), sandbox.Deleted)
			found(t, s, "1000001", rec)
		},
		"resolve a deleted one": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			become(t, s, rec, sandbox.Deleted)
			for ref, want := range map[string]sandbox.Code{
				string(rec.ID):     sandbox.Gone,
				string(rec.ID[:8]): sandbox.Gone,
				rec.Spec.Name:      sandbox.NotFound,
			} {
				_, err := s.Resolve(t.Context(), ref)
				wantCode(t, err, want)
			}
		},
		"resolve nonsense": func(t *testing.T, s store.Store) {
			create(t, s, record(1))
			for _, ref := range []string{"", "%", "1%", "_", "100", "' OR 1=1 --", "\x00", "\xff", "nobody", strings.Repeat("1", 100000)} {
				_, err := s.Resolve(t.Context(), ref)
				if e := wantCode(t, err, sandbox.NotFound); len(e.Message) > 1000 {
					t.Errorf("a message of %d bytes", len(e.Message))
				}
			}
		},
	}
}

func found(t *testing.T, s store.Store, ref string, want *sandbox.Record) {
	t.Helper()
	got, err := s.Resolve(t.Context(), ref)
	if err != nil {
		t.Fatalf("resolve %s: %v", ref, err)
	}
	same(t, got, want)
}
