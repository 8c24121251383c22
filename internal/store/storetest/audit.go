package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

// That a refused Create, Update or Purge leaves no line is tested with them.
func auditTests() map[string]func(*testing.T, store.Store) {
	return map[string]func(*testing.T, store.Store){
		"audit has one line per transition": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			become(t, s, rec, sandbox.Running)
			create(t, s, record(2))
			become(t, s, rec, sandbox.Deleted)
			lines, err := s.Audit(t.Context(), rec.ID, 0)
			same(t, err, nil)
			increasing(t, lines)
			for i := range lines {
				lines[i].Seq = 0
			}
			line := func(a sandbox.AuditEntry) sandbox.AuditEntry {
				a.Sandbox, a.Name = rec.ID, rec.Spec.Name
				return a
			}
			same(t, lines, []sandbox.AuditEntry{
				line(turned(1, sandbox.Running, sandbox.Deleted)),
				line(turned(1, sandbox.Creating, sandbox.Running)),
				line(made(0)),
			})
		},
		"audit is about the record it goes with": func(t *testing.T, s store.Store) {
			rec := record(1)
			err := s.Create(t.Context(), rec, sandbox.AuditEntry{Event: "create", Sandbox: "somebody", Name: "else"})
			same(t, err, nil)
			wantEvents(t, s, rec.ID, "create")
			wantEvents(t, s, "somebody")
		},
		"audit fills in a missing time": func(t *testing.T, s store.Store) {
			before := time.Now()
			same(t, s.Append(t.Context(), sandbox.AuditEntry{Event: "start"}), nil)
			lines, err := s.Audit(t.Context(), "", 1)
			same(t, err, nil)
			if at := lines[0].At; at.Before(before.Round(0)) || at.After(time.Now()) {
				t.Errorf("at %v", at)
			}
		},
		"audit of all, with a limit": func(t *testing.T, s store.Store) {
			create(t, s, record(1))
			for range 150 {
				same(t, s.Append(t.Context(), sandbox.AuditEntry{At: born(1), Sandbox: numbered(1), Event: "exec"}), nil)
			}
			same(t, s.Append(t.Context(), sandbox.AuditEntry{At: born(1), Event: "recover", Detail: "it's fine"}), nil)
			for limit, want := range map[int]int{0: 100, 1: 1, 7: 7, 1000: 152} {
				lines, err := s.Audit(t.Context(), "", limit)
				same(t, err, nil)
				same(t, len(lines), want)
				same(t, lines[0].Detail, "it's fine")
				increasing(t, lines)
			}
		},
		"audit of a file": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			line := turned(1, sandbox.Creating, sandbox.Running)
			line.Event, line.Project, line.Paths = "approve", "/src", []string{"a", "dir/\xff\n", "a"}
			rec.Status = sandbox.Running
			same(t, s.Update(t.Context(), rec, line), nil)
			line.Project, line.Detail = "/other", "not this"
			same(t, s.Append(t.Context(), line), nil)
			for path, want := range map[string]int{"a": 1, "dir/\xff\n": 1, "dir": 0, "dir/\xfe\n": 0, "A": 0} {
				lines, err := s.AuditOf(t.Context(), "/src", path, 0)
				same(t, err, nil)
				same(t, len(lines), want)
				if want == 1 {
					same(t, lines[0].Event+" "+string(lines[0].Sandbox)+" "+lines[0].Detail, "approve "+string(rec.ID)+" ")
				}
			}
		},
	}
}

// increasing checks that every line has a number of its own, newest first.
func increasing(t *testing.T, lines []sandbox.AuditEntry) {
	t.Helper()
	if !slices.IsSortedFunc(lines, func(a, b sandbox.AuditEntry) int {
		if a.Seq > b.Seq {
			return -1
		}
		return 1
	}) {
		t.Errorf("lines are not numbered newest first: %+v", lines)
	}
}
