package cgroup

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Stats is one reading of a group's counters.
type Stats struct {
	CPUUsec         int64 // processor time used so far; -1 where nothing counts it
	MemoryBytes     int64
	MemoryEstimated bool  // no memory controller: the private memory of its processes added up
	MemoryLimit     int64 // 0 if none is set
	PIDs            int64 // tasks, or processes where no controller counts tasks
}

// Stats reads the counters; a group that is gone has none and is an error.
func (g *Group) Stats() (Stats, error) {
	var s Stats
	for _, read := range []func(*Stats) error{g.cpuStats, g.memoryStats, g.pidStats} {
		if err := read(&s); err != nil {
			return Stats{}, fmt.Errorf("stats of group %s: %w", g.state.ID, err)
		}
	}
	return s, nil
}

func (g *Group) cpuStats(s *Stats) error {
	if g.state.Unified {
		// cpu.stat has the usage even without the cpu controller.
		text, err := readControl(g.anchor, "cpu.stat")
		s.CPUUsec, _ = keyed(text, "usage_usec")
		return err
	}
	s.CPUUsec = -1
	if dir, ok := g.v1[CPU]; ok {
		// Present where cpu and cpuacct are mounted together, as most hosts do.
		if nsec, ok, _ := number(dir, "cpuacct.usage"); ok {
			s.CPUUsec = nsec / 1000
		}
	}
	return nil
}

func (g *Group) memoryStats(s *Stats) error {
	dir, current, limit := g.anchor, "memory.current", "memory.max"
	if v1, ok := g.v1[Memory]; ok {
		dir, current, limit = v1, "memory.usage_in_bytes", "memory.limit_in_bytes"
	}
	bytes, ok, err := number(dir, current)
	if err != nil {
		return err
	}
	if !ok {
		return g.estimateMemory(s)
	}
	s.MemoryBytes = bytes
	s.MemoryLimit, _, err = number(dir, limit)
	return err
}

// estimateMemory adds up resident less shared pages, which misses page cache and
// tmpfs but costs one small read for each process.
func (g *Group) estimateMemory(s *Stats) error {
	s.MemoryEstimated = true
	pids, err := members(g.anchor)
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		fields := strings.Fields(string(text))
		if err != nil || len(fields) < 3 {
			continue // ended since it was listed
		}
		resident, _ := strconv.ParseInt(fields[1], 10, 64) // written by the kernel
		shared, _ := strconv.ParseInt(fields[2], 10, 64)   // likewise
		s.MemoryBytes += (resident - shared) * int64(os.Getpagesize())
	}
	return err
}

func (g *Group) pidStats(s *Stats) error {
	dir := g.anchor
	if v1, ok := g.v1[PIDs]; ok {
		dir = v1
	}
	count, ok, err := number(dir, "pids.current")
	if err != nil || ok {
		s.PIDs = count
		return err
	}
	pids, err := members(g.anchor)
	s.PIDs = int64(len(pids))
	return err
}

// number reads a file of one number. "max" is 0, no limit; so is a file that is
// absent, and then ok is false.
func number(dir *os.File, file string) (n int64, ok bool, err error) {
	text, err := readControl(dir, file)
	if errors.Is(err, unix.ENOENT) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	text = strings.TrimSpace(text)
	if text == "max" {
		return 0, true, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	return n, err == nil, err
}

// OOMKills counts the processes the kernel killed because of the memory limit, so
// that an exit by SIGKILL can be explained.
func (g *Group) OOMKills() (int64, error) {
	dir, file := g.anchor, "memory.events"
	if v1, ok := g.v1[Memory]; ok {
		dir, file = v1, "memory.oom_control"
	}
	text, err := readControl(dir, file)
	if err := optional(err); err != nil {
		return 0, fmt.Errorf("oom kills of group %s: %w", g.state.ID, err)
	}
	kills, _ := keyed(text, "oom_kill") // absent without a memory controller
	return kills, nil
}

// Empty says whether no process is left; a group that is gone is empty.
func (g *Group) Empty() (bool, error) {
	if !g.state.Unified {
		pids, err := members(g.anchor)
		return len(pids) == 0, err
	}
	text, err := readControl(g.anchor, "cgroup.events")
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) {
		return true, nil
	}
	populated, _ := keyed(text, "populated")
	return populated == 0, err
}
