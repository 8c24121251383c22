package cgroup

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Names of the controllers, which are also the names of the limits in coop.toml and
// the keys of [Parent.Missing].
const (
	CPU    = "cpu"
	Memory = "memory"
	PIDs   = "pids"
)

// freezer is the v1 controller that stands in for cgroup2 where there is none.
const freezer = "freezer"

// cpuPeriodUsec is the kernel's default bandwidth period; a quota counts within it.
const cpuPeriodUsec = 100_000

// Limits are upper bounds for a whole sandbox. Zero means no limit.
type Limits struct {
	CPU         float64 // processors: 1.5 is one and a half
	MemoryBytes int64   // memory without swap: swap is not given on top of it
	PIDs        int64   // tasks: threads count like processes
}

// controllers lists what l needs, in a fixed order.
func (l Limits) controllers() []string {
	var names []string
	if l.CPU != 0 {
		names = append(names, CPU)
	}
	if l.MemoryBytes != 0 {
		names = append(names, Memory)
	}
	if l.PIDs != 0 {
		names = append(names, PIDs)
	}
	return names
}

// check refuses values the kernel would refuse or round to something else.
func (l Limits) check() error {
	// The kernel's smallest quota is 1 ms in a period of 100 ms.
	if l.CPU != 0 && !(l.CPU >= 0.01 && l.CPU <= 1<<16) {
		return fmt.Errorf("cpu limit %v: must be 0.01 to 65536 processors", l.CPU)
	}
	if l.MemoryBytes < 0 {
		return fmt.Errorf("memory limit %d: must not be negative", l.MemoryBytes)
	}
	if l.PIDs < 0 {
		return fmt.Errorf("pids limit %d: must not be negative", l.PIDs)
	}
	return nil
}

// apply writes the limit of one controller into dir.
func (l Limits) apply(dir *os.File, controller string, version int) error {
	switch controller {
	case CPU:
		return l.applyCPU(dir, version)
	case Memory:
		return l.applyMemory(dir, version)
	case PIDs:
		return writeControl(dir, "pids.max", strconv.FormatInt(l.PIDs, 10))
	}
	return fmt.Errorf("controller %s has no limit", controller)
}

func (l Limits) applyCPU(dir *os.File, version int) error {
	quota := strconv.FormatInt(int64(math.Round(l.CPU*cpuPeriodUsec)), 10)
	period := strconv.Itoa(cpuPeriodUsec)
	if version == 2 {
		return writeControl(dir, "cpu.max", quota+" "+period)
	}
	if err := writeControl(dir, "cpu.cfs_period_us", period); err != nil {
		return err
	}
	return writeControl(dir, "cpu.cfs_quota_us", quota)
}

func (l Limits) applyMemory(dir *os.File, version int) error {
	limit := strconv.FormatInt(l.MemoryBytes, 10)
	if version == 2 {
		if err := writeControl(dir, "memory.max", limit); err != nil {
			return err
		}
		// One killed process leaves an agent's tree half alive; the group dies as one.
		if err := writeControl(dir, "memory.oom.group", "1"); err != nil {
			return err
		}
		return optional(writeControl(dir, "memory.swap.max", "0"))
	}
	if err := writeControl(dir, "memory.limit_in_bytes", limit); err != nil {
		return err
	}
	// memsw counts memory and swap together and must not be below the limit above,
	// hence after it.
	return optional(writeControl(dir, "memory.memsw.limit_in_bytes", limit))
}

// optional forgives a control file that is absent because the kernel has no swap
// accounting: then there is no swap to limit, or no way to see it.
func optional(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
