package cli

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/api"
)

func sandboxNamed(name string) api.Sandbox {
	return api.Sandbox{ID: "id-" + name, Name: name, Status: "running", CreatedAt: time.Now().Add(-3 * time.Hour)}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "größe 漢字 🎉": "größe 漢字 🎉", "": "",
		"\x1b]0;x\x07": `\x1b]0;x\a`, "a\nb\tc\r": `a\nb\tc\r`, "\u009b2J": `\u009b2J`, "\u202egpj": `\u202egpj`,
		"\xff\xfe": `\xff\xfe`, "\x00": `\x00`, "\x7f": `\x7f`, "\ufffd": "\ufffd", "\u00a0": `\u00a0`,
	} {
		if got := escape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		if e := escape(s); strings.ContainsFunc(e, hostile) {
			t.Errorf("%q: %q", s, e)
		}
	})
}

func TestHostileNamesReachNoTerminal(t *testing.T) {
	w := newWorld(t)
	evil := "\x1b[2J\u009b\u202e\n"
	sb := sandboxNamed("box")
	sb.ID, sb.Workspace.Source, sb.Image = "id\x1b", "/p"+evil, evil
	sb.Labels = map[string]string{evil: evil}
	sb.Failure = &api.Failure{Step: evil, Message: evil}
	sb.Degraded = []api.Degraded{{Fence: evil, Reason: evil}}
	w.daemon.Add(sb)
	w.daemon.Processes = []api.Process{{PID: 1, State: evil, Command: evil + strings.Repeat("x", 1<<20)}}
	w.daemon.Version.Version, w.daemon.Version.Home = evil, evil
	for _, line := range []string{"ls", "ls -q", "ls -v", "ls --json", "inspect box", "inspect -q box", "inspect --json box", "ps box", "ps --json box", "status", "version", "version --json"} {
		_, stdout, stderr := w.coop(strings.Fields(line)...)
		for _, text := range []string{stdout, stderr} {
			if strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), hostile) {
				t.Errorf("coop %s: %.200q", line, text)
			}
		}
		if line == "ls" && strings.Count(stdout, "\n") != 2 {
			t.Errorf("a name broke a row: %q", stdout)
		}
		if line == "ps box" && len(stdout) > 1000 {
			t.Errorf("a command of %d bytes", len(stdout))
		}
	}
}

func TestLs(t *testing.T) {
	w := newWorld(t)
	w.daemon.PageSize = 1
	a, b := sandboxNamed("a"), sandboxNamed("b")
	a.Degraded = []api.Degraded{{Fence: "limits", Reason: "no cgroups"}}
	a.Workspace = api.Workspace{Source: "/p", Mode: "overlay"}
	b.Status = "stopped"
	w.daemon.Add(a)
	w.daemon.Add(b)
	w.want(t, 0, "NAME  ID    STATUS     WORKSPACE  MODE     AGE\na     id-a  running !  /p         overlay  3h\n", "coop: 1 stopped not shown: coop ls -a\n", "ls")
	w.want(t, 0, "id-b\nid-a\n", "", "ls", "-a", "-q")
	_, _, stderr := w.coop("ls", "-v")
	if !strings.Contains(stderr, "coop: a: degraded: limits: no cgroups\n") {
		t.Errorf("%q", stderr)
	}
	_, stdout, _ := w.coop("ls", "-a", "--json")
	var list api.List[api.Sandbox]
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || list.Total != 2 {
		t.Errorf("%v %+v", err, list)
	}
	if diff := cmp.Diff(w.daemon.Sandboxes(), list.Items); diff != "" {
		t.Error(diff)
	}
}

func TestEmptyListIsAnArray(t *testing.T) {
	w := newWorld(t)
	_, stdout, _ := w.coop("ls", "--json")
	if !strings.Contains(stdout, `"items": []`) {
		t.Errorf("%q", stdout)
	}
}

func TestInspect(t *testing.T) {
	w := newWorld(t)
	sb := sandboxNamed("box")
	sb.Limits = api.Limits{Memory: 4 << 30, PIDs: 100}
	sb.Degraded = []api.Degraded{{Fence: "limits", Reason: "no cgroups"}}
	sb.Labels = map[string]string{"b": "2", "a": "1"}
	w.daemon.Add(sb)
	_, stdout, _ := w.coop("inspect", "box")
	for _, line := range []string{"name:      box\n", "limits:    memory 4GiB, pids 100\n", "labels:    a=1 b=2\n", "degraded:  limits: no cgroups\n"} {
		if !strings.Contains(stdout, line) {
			t.Errorf("%q is not in\n%s", line, stdout)
		}
	}
	if strings.Contains(stdout, "failure") {
		t.Errorf("empty lines:\n%s", stdout)
	}
}

func TestPs(t *testing.T) {
	w := newWorld(t)
	w.daemon.Add(sandboxNamed("box"))
	w.daemon.Processes = []api.Process{{PID: 7, PPID: 1, UID: 0, State: "S", Command: "sleep 9", CPUMs: 1500, RSSBytes: 2 << 20, StartedMs: 90_000}}
	w.want(t, 0, "PID  PPID  UID  STATE  CPU   RSS    AGE  COMMAND\n7    1     0    S      1.5s  2048K  1m   sleep 9\n", "", "ps", "box")
	w.want(t, 0, "7\n", "", "ps", "-q", "box")
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	w := newWorld(t)
	w.daemon.Add(sandboxNamed("box"))
	w.daemon.Settle()
	for _, line := range []string{"ls", "ls --json", "ls -q", "inspect box", "ps box", "status", "version", "create"} {
		var stderr strings.Builder
		if status := Main(strings.Fields(line), Streams{Out: full, Err: &stderr}, w.hooks); status != 1 || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("coop %s: %d %q", line, status, stderr.String())
		}
	}
}

func TestReportErrorNeedsNoHint(t *testing.T) {
	var b strings.Builder
	a := &app{streams: Streams{Err: &b}}
	a.reportError(errors.New("x\x1b"))
	if b.String() != "coop: x\\x1b\n" {
		t.Errorf("%q", b.String())
	}
}
