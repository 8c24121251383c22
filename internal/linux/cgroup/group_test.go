package cgroup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// layouts are the two that a hybrid host can show.
func layouts(t *testing.T, test func(t *testing.T, p *Parent)) {
	t.Run("hybrid", func(t *testing.T) { test(t, testParent(t, nil)) })
	t.Run("v1", func(t *testing.T) { test(t, testParent(t, noUnified)) })
}

func TestPIDsLimit(t *testing.T) {
	layouts(t, func(t *testing.T, p *Parent) {
		g := testGroup(t, p, Limits{PIDs: 5})
		sh := start(t, p, g, "trap 'echo refused' EXIT; for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 >/dev/null & done")
		sh.begin(t)
		if got := sh.line(t); got != "refused" {
			t.Errorf("said %q", got)
		}
		s, err := g.Stats()
		if err != nil || s.PIDs < 4 || s.PIDs > 5 {
			t.Errorf("%d tasks with a limit of 5: %v", s.PIDs, err)
		}
	})
}

func TestMemoryLimitKills(t *testing.T) {
	layouts(t, func(t *testing.T, p *Parent) {
		g := testGroup(t, p, Limits{MemoryBytes: 32 << 20})
		sh := start(t, p, g, "head -c 200000000 /dev/zero | tail >/dev/null; echo $?")
		sh.begin(t)
		if got := sh.line(t); got != "137" {
			t.Errorf("the hungry program ended with %q", got)
		}
		if kills, err := g.OOMKills(); err != nil || kills == 0 {
			t.Errorf("%d kills: %v", kills, err)
		}
		if s, err := g.Stats(); err != nil || s.MemoryLimit != 32<<20 || s.MemoryEstimated {
			t.Errorf("stats %+v: %v", s, err)
		}
	})
}

func TestCPUQuotaIsWritten(t *testing.T) {
	p := testParent(t, nil)
	g := testGroup(t, p, Limits{CPU: 0.25})
	dir, file, want := g.anchor, "cpu.max", "25000 100000"
	if v1, ok := g.v1[CPU]; ok {
		dir, file, want = v1, "cpu.cfs_quota_us", "25000"
	}
	if got, err := readControl(dir, file); err != nil || strings.TrimSpace(got) != want {
		t.Errorf("%s is %q: %v", file, got, err)
	}
}

func TestOnlyLimitedControllersGetGroups(t *testing.T) {
	p := testParent(t, nil)
	if g := testGroup(t, p, Limits{}); len(g.v1) != 0 {
		t.Errorf("v1 groups %v without a limit", g.state.V1)
	}
}

// doubleFork leaves a daemonised grandchild that would outlive its parents.
const doubleFork = "setsid sh -c 'sleep 1000 & echo $!' </dev/null; exit 0"

func TestKillReachesDoubleFork(t *testing.T) {
	layouts(t, func(t *testing.T, p *Parent) {
		g := testGroup(t, p, Limits{})
		sh := start(t, p, g, doubleFork)
		sh.begin(t)
		var pid int
		if _, err := fmt.Sscan(sh.line(t), &pid); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := g.Kill(); err != nil {
			t.Fatal(err)
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 5000)
		for err == unix.EINTR {
			n, err = unix.Poll(poll, 5000)
		}
		if n != 1 {
			t.Errorf("grandchild %d lives: %v", pid, err)
		}
	})
}

func TestKillFrozenGroupByHand(t *testing.T) {
	layouts(t, func(t *testing.T, p *Parent) {
		g := testGroup(t, p, Limits{})
		sh := start(t, p, g, "sleep 1000 & echo ready; wait")
		sh.begin(t)
		sh.line(t)
		if err := g.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.killByHand(); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := sh.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestFreezeAndThaw(t *testing.T) {
	layouts(t, func(t *testing.T, p *Parent) {
		g := testGroup(t, p, Limits{})
		sh := start(t, p, g, "while read line; do echo $line; done")
		sh.begin(t)
		if err := g.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", sh.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(sh.stdin, "hello")
		after, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", sh.Process.Pid))
		if !bytes.Equal(before, after) {
			t.Errorf("ran while frozen: %s then %s", before, after)
		}
		if err := g.Thaw(); err != nil {
			t.Fatal(err)
		}
		if got := sh.line(t); got != "hello" {
			t.Errorf("said %q", got)
		}
	})
}

func TestRemoveWaitsForTheLastProcess(t *testing.T) {
	layouts(t, func(t *testing.T, p *Parent) {
		g := testGroup(t, p, Limits{PIDs: 10})
		sh := start(t, p, g, "read second")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		if err := g.Remove(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("removed a living group: %v", err)
		}
		removed := make(chan error)
		go func() { removed <- g.Remove(t.Context()) }()
		if err := g.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-removed; err != nil {
			t.Fatal(err)
		}
		if err := sh.Wait(); err == nil {
			t.Error("was not killed")
		}
		if err := errors.Join(g.Remove(t.Context()), g.Kill(), g.Thaw()); err != nil {
			t.Errorf("a second time: %v", err)
		}
		if empty, err := g.Empty(); err != nil || !empty {
			t.Errorf("empty %v: %v", empty, err)
		}
	})
}

func TestRemoveTakesSubGroups(t *testing.T) {
	layouts(t, func(t *testing.T, p *Parent) {
		g := testGroup(t, p, Limits{})
		if err := os.MkdirAll(filepath.Join(g.state.Anchor, "exec-1", "deeper"), 0o755); err != nil {
			t.Fatal(err)
		}
		sub, err := openPath(filepath.Join(g.state.Anchor, "exec-1", "deeper"))
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		sh := start(t, p, g, "read second")
		if err := writeControl(sub, "cgroup.procs", fmt.Sprint(sh.Process.Pid)); err != nil {
			t.Fatal(err)
		}
		if empty, err := g.Empty(); err != nil || empty {
			t.Errorf("empty %v: %v", empty, err)
		}
		clear(t, g)
	})
}

func TestReopenAfterRestart(t *testing.T) {
	p := testParent(t, nil)
	g := testGroup(t, p, Limits{PIDs: 9})
	sh := start(t, p, g, "read second")
	stored, err := json.Marshal(g.State())
	if err != nil {
		t.Fatal(err)
	}
	_ = g.Close()
	var s State
	if err := json.Unmarshal(stored, &s); err != nil {
		t.Fatal(err)
	}
	again, err := Reopen(s)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := again.Stats(); err != nil || st.PIDs != 1 {
		t.Errorf("stats %+v: %v", st, err)
	}
	clear(t, again)
	_ = sh.Wait()
	if _, err := Reopen(s); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reopened what is gone: %v", err)
	}
}

func TestOrphans(t *testing.T) {
	p := testParent(t, nil)
	kept, lost := testGroup(t, p, Limits{}), testGroup(t, p, Limits{PIDs: 3})
	found, err := p.Orphans(func(id string) bool { return id == kept.state.ID })
	if err != nil || len(found) != 1 || found[0].ID != lost.state.ID || len(found[0].V1) != len(lost.state.V1) {
		t.Fatalf("found %+v: %v", found, err)
	}
	if _, err := p.Create(kept.state.ID, Limits{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
}

func TestAddMovesALivingProcess(t *testing.T) {
	layouts(t, func(t *testing.T, p *Parent) {
		from, to := testGroup(t, p, Limits{PIDs: 9}), testGroup(t, p, Limits{PIDs: 9, CPU: 1})
		sh := start(t, p, from, "read second")
		if err := to.Add(sh.Process.Pid); err != nil {
			t.Fatal(err)
		}
		for _, dir := range to.dirs() {
			if pids, err := members(dir); err != nil || len(pids) != 1 {
				t.Errorf("%s has %v: %v", dir.Name(), pids, err)
			}
		}
		if empty, err := from.Empty(); err != nil || !empty {
			t.Errorf("left group is empty %v: %v", empty, err)
		}
	})
}

// TestStartLeavesNoThreadBehind proves that only the child is in the groups: a thread
// of the daemon left there would share the sandbox's limits and be frozen with it.
func TestStartLeavesNoThreadBehind(t *testing.T) {
	layouts(t, func(t *testing.T, p *Parent) {
		g := testGroup(t, p, Limits{PIDs: 9, CPU: 1, MemoryBytes: 64 << 20})
		sh := start(t, p, g, "read second")
		for _, dir := range g.dirs() {
			file := "tasks"
			if dir == g.anchor && g.state.Unified {
				file = "cgroup.procs"
			}
			text, err := readControl(dir, file)
			if pids := parsePIDs(text); err != nil || len(pids) != 1 || pids[0] != sh.Process.Pid {
				t.Errorf("%s has %v, want %d: %v", dir.Name(), pids, sh.Process.Pid, err)
			}
		}
	})
}

func TestStartReportsItsError(t *testing.T) {
	layouts(t, func(t *testing.T, p *Parent) {
		g := testGroup(t, p, Limits{PIDs: 9})
		if err := p.Start(g, func() error { return unix.ENOEXEC }); !errors.Is(err, unix.ENOEXEC) {
			t.Errorf("error %v", err)
		}
		if err := g.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestDelegate(t *testing.T) {
	p := testParent(t, nil)
	g := testGroup(t, p, Limits{})
	if err := g.Delegate(524288, 524288); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mkdir", filepath.Join(g.state.Anchor, "exec-1"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 524288, Gid: 524288}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(g.state.Anchor, "cgroup.max.descendants"), &st); err != nil || st.Uid != 0 {
		t.Errorf("the bound belongs to %d: %v", st.Uid, err)
	}
}

// TestOrdinaryUser proves that a host without a usable group says why.
func TestOrdinaryUser(t *testing.T) {
	needRoot(t)
	cmd := exec.Command(readableSelf(t), "__child", "detect")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fields := strings.Split(strings.TrimSpace(string(out)), "|")
	if fields[0] != string(None) || !strings.Contains(fields[1], "permission denied") || fields[2] == "" || fields[3] == "" {
		t.Errorf("says %q", out)
	}
}

// readableSelf copies the test binary to where another user may execute it.
func readableSelf(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "coop-cgroup-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "test")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
