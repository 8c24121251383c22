// Package storetest is what every store must do, as tests. A store is good
// when Run passes with -race and -shuffle=on; what one store alone promises
// (files, schemas, a full disk) is tested beside it.
package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

// Run tests the store that open makes. Every call of open must give an empty
// store of its own, and close it when its test ends.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	suite := map[string]func(*testing.T, store.Store){}
	for _, part := range []map[string]func(*testing.T, store.Store){
		createTests(), updateTests(), purgeTests(), resolveTests(), listTests(), auditTests(), lifeTests(),
	} {
		maps.Copy(suite, part)
	}
	for _, name := range slices.Sorted(maps.Keys(suite)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite[name](t, open(t))
		})
	}
}

// born is when the first record of a test was made; the nth is n seconds older
// or younger. Nanoseconds are there to see that none is lost.
func born(n int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC).Add(time.Duration(n) * time.Second)
}

// numbered makes ids that differ in their first eight characters and sort like n.
func numbered(n int) sandbox.ID { return sandbox.ID(fmt.Sprintf("%08xaaaa", 0x10000000+n)) }

// record fills every field, so that one that does not survive the store is seen.
func record(n int) *sandbox.Record {
	return &sandbox.Record{
		ID: numbered(n),
		Spec: sandbox.Spec{
			Name:      fmt.Sprintf("box-%d", n),
			Image:     sandbox.DefaultImage,
			Workspace: sandbox.Workspace{Source: fmt.Sprintf("/src/%d", n), Mode: sandbox.ModeOverlay, Path: "/workspace", Repo: true},
			Env:       map[string]string{"A": "a b\n'\"\\ü"},
			Network:   sandbox.NetworkNone,
			Limits:    sandbox.Limits{CPU: 1.5, MemoryBytes: 1 << 40, PIDs: 7, DiskBytes: 9, ExecTimeout: time.Minute, Asked: []string{"cpu"}},
			Security:  sandbox.Security{Seccomp: "default", ReadonlyRoot: true, Optional: []string{"landlock"}},
			Agent:     sandbox.Agent{Command: "sh", Args: []string{"-c", "true"}, User: "root"},
			Driver:    "namespace", Upper: "disk", Owner: "uid:1000",
			Labels:   map[string]string{"team": "red"},
			Metadata: map[string]any{"note": "x", "list": []any{"y", true, nil}},
		},
		Status:         sandbox.Creating,
		ReviewStatus:   sandbox.ReviewPending,
		Driver:         "namespace",
		DriverReason:   "default",
		Degraded:       []sandbox.Degraded{{Fence: "cgroup", Reason: "not delegated"}},
		Failure:        &sandbox.Failure{Step: "mount", Message: "no"},
		IDBase:         uint32(1<<31 + n<<16),
		IdempotencyKey: fmt.Sprintf("key-%d", n),
		RequestHash:    "abc",
		CreatedAt:      born(n),
		UpdatedAt:      born(n),
		StoppedAt:      new(born(n)),
	}
}

func made(n int) sandbox.AuditEntry {
	return sandbox.AuditEntry{At: born(n), Event: "create", To: sandbox.Creating, Actor: "uid:1000", Detail: "d"}
}

func turned(n int, from, to sandbox.Status) sandbox.AuditEntry {
	return sandbox.AuditEntry{At: born(n), Event: "transition", From: from, To: to, Actor: "daemon"}
}

func create(t *testing.T, s store.Store, rec *sandbox.Record) *sandbox.Record {
	t.Helper()
	if err := s.Create(t.Context(), rec, made(0)); err != nil {
		t.Fatalf("create %s: %v", rec.ID, err)
	}
	return rec
}

func become(t *testing.T, s store.Store, rec *sandbox.Record, to sandbox.Status) {
	t.Helper()
	audit := turned(1, rec.Status, to)
	rec.Status = to
	if to == sandbox.Deleted {
		rec.DeletedAt = new(born(1))
	}
	if err := s.Update(t.Context(), rec, audit); err != nil {
		t.Fatalf("%s of %s: %v", to, rec.ID, err)
	}
}

func wantCode(t *testing.T, err error, want sandbox.Code) *sandbox.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", want)
	}
	if got := sandbox.CodeOf(err); got != want {
		t.Fatalf("code %s (%v), want %s", got, err, want)
	}
	return err.(*sandbox.Error) //nolint:errorlint // a store returns coded errors unwrapped
}

func wantDetail(t *testing.T, err error, code sandbox.Code, key string, want any) {
	t.Helper()
	same(t, wantCode(t, err, code).Details[key], want)
}

func wantRecord(t *testing.T, s store.Store, want *sandbox.Record) {
	t.Helper()
	got, err := s.Get(t.Context(), want.ID)
	if err != nil {
		t.Fatalf("get %s: %v", want.ID, err)
	}
	same(t, got, want)
}

// wantEvents compares the audit lines of one sandbox, oldest first.
func wantEvents(t *testing.T, s store.Store, id sandbox.ID, want ...string) {
	t.Helper()
	lines, err := s.Audit(t.Context(), id, 1000)
	if err != nil {
		t.Fatalf("audit of %s: %v", id, err)
	}
	var got []string
	for _, l := range slices.Backward(lines) {
		got = append(got, l.Event)
	}
	same(t, got, want)
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("differs (-want +got):\n%s", diff)
	}
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
