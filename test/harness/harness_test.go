package harness

import (
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m, Options{})) }

func TestTheKeeperFindsDaemonAndPID1(t *testing.T) {
	id := Create(t)
	if r := Exec(t, id, "echo", "hello"); r.Code != 0 || r.Stdout != "hello\n" {
		t.Fatalf("%+v", r)
	}
	keeper := os.Getppid()
	var all []string
	for _, p := range descendants(keeper) {
		all = append(all, p.cmdline)
	}
	list := strings.Join(all, "\n")
	if !strings.Contains(list, "coop-daemon daemon") || !strings.Contains(list, "coop-init") {
		t.Errorf("not all of Coop's processes are descendants:\n%s", list)
	}
	if len(Shared().sandboxDirs()) != 1 {
		t.Errorf("directories: %q", Shared().sandboxDirs())
	}
}

func TestAKilledDaemonsSandboxesStayDescendants(t *testing.T) {
	id := Create(t)
	sb, err := Client(t).Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	KillDaemon(t)
	p, ok := readProcess(sb.PID)
	if !ok || p.ppid != os.Getppid() {
		t.Errorf("PID 1: %v, child of %d, not of the keeper", ok, p.ppid)
	}
	if r := Exec(t, id, "true"); r.Code != 0 {
		t.Errorf("%+v", r)
	}
}

func TestMode(t *testing.T) {
	want := "root"
	if os.Getuid() != 0 {
		want = "user"
	}
	if m := Mode(); !strings.HasPrefix(m, want) {
		t.Errorf("mode %q", m)
	}
}
