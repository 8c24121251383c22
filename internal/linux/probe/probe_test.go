package probe

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be its own probing child, and run the whole examination
// as another user.
func TestMain(m *testing.M) {
	if MaybeChild(os.Args) {
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "__run" {
		_ = json.NewEncoder(os.Stdout).Encode(Run(context.Background(), Options{Home: os.Args[2]}))
		return
	}
	// The race detector lets every process sleep for a second at its end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

func find(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %s in %+v", name, checks)
	return Check{}
}

// complete is the package's invariant.
func complete(t *testing.T, checks []Check) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range checks {
		t.Logf("%-16s ok=%-5v required=%-5v %s", c.Name, c.OK, c.Required, c.Detail)
		if seen[c.Name] || c.Name == "" || c.Detail == "" || strings.Contains(c.Detail, "\n") {
			t.Errorf("check %+v", c)
		}
		if c.OK != (c.Hint == "") {
			t.Errorf("%s: ok %v with hint %q", c.Name, c.OK, c.Hint)
		}
		seen[c.Name] = true
	}
}

// wantOK are the abilities of the machines that Coop is tested on, for every user.
var wantOK = []string{"kernel", "userns", "overlayfs", "overlay-home", "mount-api", "proc-mount", "netns", "seccomp", "pidfd", "clone3", "home"}

func TestRun(t *testing.T) {
	home := filepath.Join(t.TempDir(), "not", "yet")
	began := time.Now()
	checks := Run(t.Context(), Options{Home: home})
	if took := time.Since(began); took > deadline {
		t.Errorf("took %v", took)
	} else {
		t.Logf("took %v", took)
	}
	complete(t, checks)
	for _, name := range wantOK {
		if c := find(t, checks, name); !c.OK {
			t.Errorf("%s: %s", name, c.Detail)
		}
	}
	if err := Missing(checks); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(home)), ".coop-probe-*")); len(left) != 0 {
		t.Errorf("left behind %v", left)
	}
	if _, err := os.Stat(filepath.Dir(home)); err == nil {
		t.Error("made the home")
	}
}

func TestRootHasIdmappedMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	checks := Run(t.Context(), Options{Home: t.TempDir()})
	if c := find(t, checks, "idmapped-mounts"); !c.OK {
		t.Error(c.Detail)
	}
	if c := find(t, checks, "newuidmap"); !c.OK {
		t.Error(c.Detail)
	}
}

func TestOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become others")
	}
	for _, uid := range []uint32{65534, 54321} {
		checks := runAs(t, uid)
		complete(t, checks)
		for _, name := range wantOK {
			if c := find(t, checks, name); !c.OK {
				t.Errorf("%d: %s: %s", uid, name, c.Detail)
			}
		}
		if c := find(t, checks, "newuidmap"); c.OK {
			t.Errorf("%d has ids: %s", uid, c.Detail)
		}
		if c := find(t, checks, "idmapped-mounts"); c.OK {
			t.Errorf("%d: %s", uid, c.Detail)
		}
	}
}

// runAs runs a copy of this binary as uid with a home of its own.
func runAs(t *testing.T, uid uint32) []Check {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "coop-probe-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	home, binary := filepath.Join(dir, "home"), filepath.Join(dir, "test")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(binary, self, 0o755), os.Mkdir(home, 0o700), os.Chown(home, int(uid), int(uid)))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "__run", home)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var checks []Check
	if err := json.Unmarshal(out, &checks); err != nil {
		t.Fatal(err)
	}
	return checks
}

func TestNoTimeLeft(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time"))
	checks := Run(ctx, Options{Home: t.TempDir()})
	complete(t, checks)
	if err := Missing(checks); err == nil || !strings.Contains(err.Error(), "no time") {
		t.Errorf("error %v", err)
	}
}

func TestMissingIsTheFirstRequired(t *testing.T) {
	err := Missing([]Check{{Name: "a"}, {Name: "b", Required: true, OK: true}, {Name: "c", Required: true, Detail: "x: EPERM"}, {Name: "d", Required: true}})
	var unmet *UnmetError
	if !errors.As(err, &unmet) || unmet.Check.Name != "c" || !strings.Contains(err.Error(), "x: EPERM") {
		t.Errorf("error %v", err)
	}
}
