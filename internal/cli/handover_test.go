package cli

import (
	"strings"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/api"
)

func TestCompareVersions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"v1.2.3", "1.2.4", -1}, {"1.10.0", "1.9.9", 1}, {"1.2.3", "v1.2.3-rc1", 0}, {"dev", "1.2.3", 0}, {"1.2", "1.2.3", 0}, {"1.x.3", "1.2.3", 0},
	} {
		if got := compareVersions(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: %d", c.a, c.b, got)
		}
	}
}

// Pipes get the hint, with every verb; -q gets nothing.
func TestOtherVersionIsSaid(t *testing.T) {
	w := newWorld(t)
	w.hooks.Version = Build{Version: "1.2.0"}
	for version, line := range map[string]string{
		"1.1.9":  "the daemon (1.1.9) is older than this program (1.2.0)",
		"v1.3.0": "the daemon (v1.3.0) is newer than this program (1.2.0)",
		"dev":    "the daemon (dev) is not of this program's version (1.2.0)",
	} {
		w.daemon.Version = api.Version{Version: version}
		w.want(t, 0, "NAME  ID  STATUS  WORKSPACE  MODE  AGE\n", "coop: warning: "+line+"\nhint: "+handOverHint+"\n", "ls")
		w.want(t, 0, "", "", "-q", "ls")
	}
	w.daemon.Version = api.Version{Version: "1.2.0", Commit: "abc"}
	_, _, stderr := w.coop("status")
	if !strings.Contains(stderr, "the daemon is another build of 1.2.0 than this program") {
		t.Errorf("%q", stderr)
	}
	if w.sent("POST /shutdown?keep=1") {
		t.Error("handed over without a yes")
	}
}

// A person is asked; a no is remembered for that daemon.
func TestHandOver(t *testing.T) {
	w := newWorld(t)
	w.daemon.Version = api.Version{Version: "1.1.0", PID: 4711}
	ls := func(answer string) string {
		s := newSeat(t)
		s.start(t, w.daemon, &syscall.SysProcAttr{Setsid: true, Setctty: true}, []string{asVersion + "=1.2.0"}, "ls")
		if answer != "" {
			s.await(t, "[y/N] ")
			s.typing(t, answer+"\n")
		}
		if got := s.exit(t); got != 0 {
			t.Errorf("status %d, %q", got, s.screen())
		}
		return s.screen()
	}
	ls("n")
	if w.sent("POST /shutdown?keep=1") {
		t.Error("handed over after a no")
	}
	if screen := ls(""); strings.Contains(screen, "[y/N]") || !strings.Contains(screen, "is older than") {
		t.Errorf("%q", screen)
	}
	w.daemon.Version.PID = 4712
	ls("yes")
	if !w.sent("POST /shutdown?keep=1") {
		t.Error("not handed over")
	}
}
