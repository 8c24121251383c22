package cgroup

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLimitsOnV2 uses plain files in place of control files: the host of the tests has
// these controllers on v1.
func TestLimitsOnV2(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{"cpu.max", "memory.max", "memory.oom.group", "memory.swap.max", "pids.max"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := openPath(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	l := Limits{CPU: 1.5, MemoryBytes: 1 << 20, PIDs: 7}
	for _, controller := range l.controllers() {
		if err := l.apply(dir, controller, 2); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"cpu.max": "150000 100000", "memory.max": "1048576", "memory.oom.group": "1", "memory.swap.max": "0", "pids.max": "7"}
	for name, value := range want {
		if got, _ := readControl(dir, name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

func TestImpossibleLimits(t *testing.T) {
	for _, l := range []Limits{{CPU: -1}, {CPU: 0.001}, {CPU: math.NaN()}, {CPU: math.Inf(1)}, {MemoryBytes: -1}, {PIDs: -1}} {
		if l.check() == nil {
			t.Errorf("%+v accepted", l)
		}
	}
}

func TestNamesThatAreNoNames(t *testing.T) {
	for _, id := range []string{"", ".", "..", "a/b", "cgroup.procs", "-x", "A", strings.Repeat("a", 65)} {
		if checkID(id) == nil {
			t.Errorf("%q accepted", id)
		}
	}
}

func TestCreateFailsClosed(t *testing.T) {
	p, err := openLayout(layout{}, "coop")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Create("a", Limits{}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "mounted") {
		t.Errorf("error %v", err)
	}
	if missing := p.Missing(Limits{PIDs: 1}); len(missing) != 1 || missing[PIDs] == "" {
		t.Errorf("missing %v", missing)
	}
}

func TestCreateRefusesLimitWithoutController(t *testing.T) {
	p := testParent(t, func(l *layout) { delete(l.v1, Memory) })
	if p.Host().Missing[Memory] == "" {
		t.Skip("the host has memory on cgroup2")
	}
	if _, err := p.Create("a", Limits{PIDs: 5, MemoryBytes: 1 << 20}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if left, _ := p.Orphans(func(string) bool { return false }); len(left) != 0 {
		t.Errorf("left behind %v", left)
	}
}
