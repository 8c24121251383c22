package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// TestTransitions is the table of Status, every pair of it.
func TestTransitions(t *testing.T) {
	states := []Status{Creating, Running, Frozen, Stopped, Failed, Deleted}
	allowed := map[Status]string{
		Creating: "running error deleted",
		Running:  "stopped frozen error deleted",
		Frozen:   "running stopped error deleted",
		Stopped:  "running error deleted",
		Failed:   "running stopped deleted",
		Deleted:  "",
	}
	for _, from := range states {
		if !from.Valid() {
			t.Errorf("%s is not valid", from)
		}
		for _, to := range states {
			if got, want := from.CanBecome(to), slices.Contains(strings.Fields(allowed[from]), string(to)); got != want {
				t.Errorf("%s to %s: %v, want %v", from, to, got, want)
			}
		}
	}
	for _, s := range []Status{"", "paused", "RUNNING"} {
		if s.Valid() || s.CanBecome(Running) || Running.CanBecome(s) {
			t.Errorf("%q is taken for a state", s)
		}
	}
}
