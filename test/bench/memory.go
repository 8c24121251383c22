package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// memory prints what an idle sandbox costs: PID 1 and the processes that wait to
// become commands. Two run, so that the pages of the shared binary do not count
// as private to either.
func memory(ctx context.Context, box *coop) error {
	id, err := box.create(ctx)
	if err != nil {
		return err
	}
	defer box.c.Delete(ctx, id)
	sb, err := box.c.Get(ctx, id)
	if err != nil {
		return err
	}
	for range 5 {
		if err := box.exec(ctx, id); err != nil {
			return err
		}
	}
	init, err := private(sb.PID)
	if err != nil {
		return err
	}
	waiting := 0
	for _, pid := range children(sb.PID) {
		n, err := private(pid)
		if err != nil {
			return err
		}
		waiting += n
	}
	v, err := box.c.Version(ctx)
	if err != nil {
		return err
	}
	daemon, err := private(v.PID)
	if err != nil {
		return err
	}
	fmt.Printf("idle sandbox: %d KiB private memory (promise: ≤ 3072), %d of it of spares; daemon: %d KiB private\n", init+waiting, waiting, daemon)
	return nil
}

// children lists those of all threads of a process.
func children(pid int) (list []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is good
	for _, f := range files {
		b, _ := os.ReadFile(f) // a thread may have ended
		for _, word := range strings.Fields(string(b)) {
			var n int
			if _, err := fmt.Sscan(word, &n); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// private reads the private pages of a process, in KiB.
func private(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	total := 0
	for _, line := range strings.Split(string(b), "\n") {
		var n int
		if strings.HasPrefix(line, "Private_") {
			fields := strings.Fields(line)
			fmt.Sscan(fields[1], &n)
			total += n
		}
	}
	return total, nil
}

// describe says what was measured where.
func describe(bin string, n int) {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // only for the heading
	st, err := os.Stat(bin)
	size := int64(0)
	if err == nil {
		size = st.Size()
	}
	fmt.Printf("Linux %s, %d cores, %s, uid %d; coop is %.1f MB; %d interleaved rounds\n\n",
		strings.TrimSpace(string(kernel)), runtime.NumCPU(), runtime.Version(), os.Getuid(), float64(size)/1e6, n)
}
