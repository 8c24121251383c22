package storetest

import (
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

func createTests() map[string]func(*testing.T, store.Store) {
	return map[string]func(*testing.T, store.Store){
		"create keeps every field and sets version 1": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			same(t, rec.Version, int64(1))
			wantRecord(t, s, rec)
		},
		"create without optional fields": func(t *testing.T, s store.Store) {
			for n := range 3 { // empty keys, paths and id ranges do not collide
				rec := create(t, s, &sandbox.Record{ID: numbered(n), Spec: sandbox.Spec{Name: string(numbered(n))}, Status: sandbox.Creating, CreatedAt: born(n)})
				wantRecord(t, s, rec)
			}
			_, err := s.ByKey(t.Context(), "")
			wantCode(t, err, sandbox.NotFound)
		},
		"create with a live name": func(t *testing.T, s store.Store) {
			first, second := create(t, s, record(1)), record(2)
			second.Spec.Name = first.Spec.Name
			refused(t, s, second, first)
		},
		"create with a used key, same name": func(t *testing.T, s store.Store) {
			first, second := create(t, s, record(1)), record(2)
			second.Spec.Name, second.IdempotencyKey = first.Spec.Name, first.IdempotencyKey
			refused(t, s, second, first)
			got, err := s.ByKey(t.Context(), first.IdempotencyKey)
			same(t, err, nil)
			same(t, got, first)
		},
		"create with the key of a deleted one": func(t *testing.T, s store.Store) {
			first, second := create(t, s, record(1)), record(2)
			become(t, s, first, sandbox.Deleted)
			second.IdempotencyKey = first.IdempotencyKey
			refused(t, s, second, first)
			got, err := s.ByKey(t.Context(), first.IdempotencyKey)
			same(t, err, nil)
			same(t, got, first)
		},
		"create with a used id": func(t *testing.T, s store.Store) {
			first, second := create(t, s, record(1)), record(2)
			second.ID = first.ID
			err := s.Create(t.Context(), second, made(2))
			wantDetail(t, err, sandbox.Conflict, "existing", string(first.ID))
			wantRecord(t, s, first)
		},
		"create with a live id range": func(t *testing.T, s store.Store) {
			first, second := create(t, s, record(1)), record(2)
			second.IDBase = first.IDBase
			refused(t, s, second, first)
		},
		"a deleted one frees its name and id range": func(t *testing.T, s store.Store) {
			first, second := create(t, s, record(1)), record(2)
			become(t, s, first, sandbox.Deleted)
			second.Spec.Name, second.IDBase = first.Spec.Name, first.IDBase
			create(t, s, second)
			wantRecord(t, s, first)
			wantRecord(t, s, second)
		},
		"get what never was": func(t *testing.T, s store.Store) {
			_, err := s.Get(t.Context(), numbered(1))
			wantCode(t, err, sandbox.NotFound)
			_, err = s.ByKey(t.Context(), "key-1")
			wantCode(t, err, sandbox.NotFound)
		},
		"id ranges of live ones": func(t *testing.T, s store.Store) {
			kept, deleted, without := create(t, s, record(3)), create(t, s, record(1)), record(2)
			become(t, s, deleted, sandbox.Deleted)
			without.IDBase = 0
			create(t, s, without)
			bases, err := s.IDBases(t.Context())
			same(t, err, nil)
			same(t, bases, []uint32{kept.IDBase})
		},
	}
}

// refused checks that a create is a conflict with other and leaves no trace.
func refused(t *testing.T, s store.Store, rec, other *sandbox.Record) {
	t.Helper()
	wantDetail(t, s.Create(t.Context(), rec, made(2)), sandbox.Conflict, "existing", string(other.ID))
	same(t, rec.Version, int64(0))
	_, err := s.Get(t.Context(), rec.ID)
	wantCode(t, err, sandbox.NotFound)
	wantEvents(t, s, rec.ID)
}

func updateTests() map[string]func(*testing.T, store.Store) {
	return map[string]func(*testing.T, store.Store){
		"update keeps every field and raises the version": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			rec.Failure, rec.ReviewStatus, rec.UpdatedAt = nil, sandbox.ReviewApproved, born(5)
			rec.Spec.Labels["team"] = "blue"
			become(t, s, rec, sandbox.Running)
			same(t, rec.Version, int64(2))
			wantRecord(t, s, rec)
		},
		"update with an old version": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			old := *rec
			become(t, s, rec, sandbox.Running)
			old.Status = sandbox.Failed
			err := s.Update(t.Context(), &old, turned(1, sandbox.Creating, sandbox.Failed))
			wantCode(t, err, sandbox.Conflict)
			same(t, old.Version, int64(1))
			wantRecord(t, s, rec)
			wantEvents(t, s, rec.ID, "create", "transition")
		},
		"update with a version from the future": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			ahead := *rec
			ahead.Version = 5
			wantCode(t, s.Update(t.Context(), &ahead, turned(1, "", "")), sandbox.Conflict)
			wantRecord(t, s, rec)
		},
		"update what never was": func(t *testing.T, s store.Store) {
			rec := record(1)
			rec.Version = 1
			wantCode(t, s.Update(t.Context(), rec, turned(1, "", "")), sandbox.NotFound)
			wantEvents(t, s, rec.ID)
		},
		"deleted is final": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			become(t, s, rec, sandbox.Deleted)
			again := *rec
			again.Status = sandbox.Running
			wantCode(t, s.Update(t.Context(), &again, turned(1, "", "")), sandbox.Gone)
			wantRecord(t, s, rec)
			wantEvents(t, s, rec.ID, "create", "transition")
		},
		"update to a name that is taken": func(t *testing.T, s store.Store) {
			first, second := create(t, s, record(1)), create(t, s, record(2))
			renamed := *second
			renamed.Spec.Name = first.Spec.Name
			err := s.Update(t.Context(), &renamed, turned(1, "", ""))
			wantDetail(t, err, sandbox.Conflict, "existing", string(first.ID))
			wantRecord(t, s, second)
			wantEvents(t, s, second.ID, "create")
		},
	}
}

func purgeTests() map[string]func(*testing.T, store.Store) {
	return map[string]func(*testing.T, store.Store){
		"purge forgets the record and keeps its audit lines": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			if err := s.Purge(t.Context(), rec.ID, sandbox.AuditEntry{At: born(2), Name: rec.Spec.Name, Event: "purge"}); err != nil {
				t.Fatal(err)
			}
			_, err := s.Get(t.Context(), rec.ID)
			wantCode(t, err, sandbox.NotFound)
			_, err = s.Resolve(t.Context(), rec.Spec.Name)
			wantCode(t, err, sandbox.NotFound)
			_, err = s.ByKey(t.Context(), rec.IdempotencyKey)
			wantCode(t, err, sandbox.NotFound)
			wantEvents(t, s, rec.ID, "create", "purge")
			create(t, s, record(1)) // name, key and id range are free again
		},
		"purge what never was": func(t *testing.T, s store.Store) {
			wantCode(t, s.Purge(t.Context(), numbered(1), sandbox.AuditEntry{Event: "purge"}), sandbox.NotFound)
			wantEvents(t, s, numbered(1))
		},
	}
}
