package engine

import (
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

func TestReasons(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	both := []sandbox.Status{sandbox.Stopped, sandbox.Failed}
	box := func(status sandbox.Status, age, idle time.Duration) candidate {
		return candidate{
			record: &sandbox.Record{Status: status, CreatedAt: now.Add(-age)}, active: now.Add(-idle),
		}
	}
	for name, c := range map[string]struct {
		c    candidate
		p    GCPolicy
		over int64
		want string
	}{
		"plain":             {box(sandbox.Stopped, time.Hour, 0), GCPolicy{Statuses: both}, 0, "stopped, nothing pending"},
		"running stays":     {box(sandbox.Running, time.Hour, 0), GCPolicy{Statuses: both}, 0, ""},
		"old":               {box(sandbox.Stopped, 2*time.Hour, 0), GCPolicy{Statuses: both, OlderThan: time.Hour}, 0, "stopped, made 2h0m0s ago"},
		"not old enough":    {box(sandbox.Stopped, time.Minute, 0), GCPolicy{Statuses: both, OlderThan: time.Hour}, 0, ""},
		"idle":              {box(sandbox.Failed, 9*time.Hour, 3*time.Hour), GCPolicy{Statuses: both, Idle: time.Hour}, 0, "error, idle for 3h0m0s"},
		"too much":          {box(sandbox.Stopped, 0, 0), GCPolicy{Statuses: both, MaxTotalBytes: 1}, 5, "stopped, longest idle while all together take too much"},
		"no longer":         {box(sandbox.Stopped, 0, 0), GCPolicy{Statuses: both, MaxTotalBytes: 1}, 0, ""},
		"only the named":    {box(sandbox.Stopped, time.Hour, 0), GCPolicy{Statuses: both, Named: []string{"x"}}, 0, ""},
		"named wins":        {candidate{record: &sandbox.Record{Status: sandbox.Running}, named: true}, GCPolicy{Named: []string{"x"}}, 0, "named"},
		"running, if asked": {box(sandbox.Running, 2*time.Hour, 0), GCPolicy{Statuses: []sandbox.Status{sandbox.Running}, OlderThan: time.Hour}, 0, "running, made 2h0m0s ago"},
	} {
		if got := c.c.reason(c.p, c.over, now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
