package daemon

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/config"
	"github.com/coop-dev/coop/internal/sandbox"
)

func TestPermit(t *testing.T) {
	usual := config.Daemon{Default: api.Limits{CPU: 1, Memory: 1 << 30, PIDs: 50, ExecTimeout: api.Duration(time.Minute)}}
	utmost := config.Daemon{Maximum: api.Limits{CPU: 2, Memory: 4 << 30, PIDs: 500, ExecTimeout: api.Duration(time.Hour)}}
	built := sandbox.Limits{PIDs: 1024}
	for name, c := range map[string]struct {
		settings  config.Daemon
		has, want sandbox.Limits
		err       string
	}{
		"nothing set": {config.Daemon{}, built, built, ""},
		"defaults":    {usual, built, sandbox.Limits{CPU: 1, MemoryBytes: 1 << 30, PIDs: 50, ExecTimeout: time.Minute, Asked: []string{"cpu", "memory", "pids"}}, ""},
		"asked for": {
			usual,
			sandbox.Limits{CPU: 4, PIDs: 2000, ExecTimeout: time.Hour, Asked: []string{"pids", "cpu"}},
			sandbox.Limits{CPU: 4, MemoryBytes: 1 << 30, PIDs: 2000, ExecTimeout: time.Hour, Asked: []string{"pids", "cpu", "memory"}},
			"",
		},
		"maximum where nobody asked": {utmost, built, sandbox.Limits{CPU: 2, MemoryBytes: 4 << 30, PIDs: 500, ExecTimeout: time.Hour, Asked: []string{"cpu", "memory", "pids"}}, ""},
		"below the maximum":          {config.Daemon{Maximum: api.Limits{PIDs: 5000}}, built, built, ""},
		"too much memory": {
			utmost,
			sandbox.Limits{MemoryBytes: 8 << 30, Asked: []string{"memory"}},
			sandbox.Limits{},
			"memory limit 8GiB is more than this daemon allows, 4GiB",
		},
		"too many processors": {utmost, sandbox.Limits{CPU: 2.5, Asked: []string{"cpu"}}, sandbox.Limits{}, "cpu limit 2.5 is more than this daemon allows, 2"},
		"too long":            {utmost, sandbox.Limits{ExecTimeout: 2 * time.Hour}, sandbox.Limits{}, "exec timeout limit 2h0m0s is more than this daemon allows, 1h0m0s"},
	} {
		got, err := permit(c.settings, sandbox.Spec{Image: "host", Limits: c.has})
		if c.err != "" {
			if err == nil || err.Error() != c.err || sandbox.CodeOf(err) != sandbox.Denied {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got.Limits); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	if _, err := permit(config.Daemon{AllowedImages: []string{"debian:*"}}, sandbox.Spec{Image: "host"}); sandbox.CodeOf(err) != sandbox.Denied {
		t.Errorf("%v", err)
	}
}
