package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
)

func TestStatus(t *testing.T) {
	w := newWorld(t)
	status, stdout, stderr := w.coop("status")
	if status != 0 || stderr != "" || !strings.Contains(stdout, "pid:        4711\n") || !strings.Contains(stdout, "sandboxes:  2, 1 running\n") {
		t.Errorf("%d %q %q", status, stdout, stderr)
	}
	_, stdout, _ = w.coop("status", "--json")
	var answer statusAnswer
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || answer.Version.PID != 4711 || answer.Health.Running != 1 {
		t.Errorf("%v %q", err, stdout)
	}
}

func TestNoDaemon(t *testing.T) {
	w := unstarted(t)
	w.want(t, 4, "", "coop: no daemon is running\n", "status")
	w.want(t, 0, "", "coop: no daemon is running\n", "shutdown")
	w.want(t, 0, "client:  dev go1\ndaemon:  not running\n", "", "version")
	if w.starts != 0 {
		t.Error("started one")
	}
}

func TestShutdown(t *testing.T) {
	w := newWorld(t)
	w.want(t, 0, "", "", "shutdown")
	w.want(t, 0, "", "", "shutdown", "--keep")
	if !w.sent("POST /shutdown") || !w.sent("POST /shutdown?keep=1") {
		t.Errorf("%q", w.daemon.Requests())
	}
}

func TestVersionsDiffer(t *testing.T) {
	w := newWorld(t)
	w.daemon.Version = api.Version{Version: "0.1", Commit: "abc", Go: "go2"}
	w.want(t, 0, "client:  dev go1\ndaemon:  0.1 (abc) go2\n",
		"coop: warning: the daemon (0.1) is not of this program's version (dev)\nhint: "+handOverHint+"\n", "version")
	w.want(t, 0, "dev\n", "", "version", "-q")
}

func TestDoctor(t *testing.T) {
	w := unstarted(t)
	checks := []api.Check{
		{Name: "user namespaces", OK: true, Required: true, Detail: "yes"},
		{Name: "cgroups", Detail: "read-only", Hint: "delegate them"},
	}
	w.hooks.HostChecks = func(context.Context, string) []api.Check { return checks }
	const good = "✓ user namespaces  yes\n– cgroups          read-only\n                   hint: delegate them\n"
	w.want(t, 0, good, "", "doctor")
	checks = append(checks, api.Check{Name: "overlay", Required: true, Detail: "refused\x1b"})
	w.want(t, 1, good+"✗ overlay          refused\\x1b\n", "coop: a sandbox cannot be made safely on this host\n", "doctor")
	status, stdout, _ := w.coop("doctor", "--json")
	var d api.Doctor
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || status != 1 || d.OK || len(d.Checks) != 3 {
		t.Errorf("%d %v %q", status, err, stdout)
	}
	if w.starts != 0 {
		t.Error("started a daemon")
	}
}
