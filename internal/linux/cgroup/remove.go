package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Remove returns nil only when every directory of the group and its sub-groups is
// gone. It waits for the processes to end but does not kill them: call [Group.Kill]
// first. It works on a half removed group and twice. The descriptors stay open until Close.
func (g *Group) Remove(ctx context.Context) error {
	for _, dir := range g.dirs() {
		if err := g.removeDir(ctx, dir); err != nil {
			return fmt.Errorf("remove group %s: %w", g.state.ID, err)
		}
	}
	return nil
}

// removeDir tries first and waits only when the kernel says busy: by then PID 1 is
// usually dead, and the wait would cost more than the removal.
func (g *Group) removeDir(ctx context.Context, dir *os.File) error {
	for {
		err := removeTree(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		if err := g.waitEmpty(ctx, dir); err != nil {
			return err
		}
	}
}

// waitEmpty returns when dir may be removable: with cgroup2 when the kernel says that
// the whole group is empty, else after any process of dir has ended.
func (g *Group) waitEmpty(ctx context.Context, dir *os.File) error {
	if g.state.Unified {
		empty, err := g.Empty()
		if err != nil {
			return err
		}
		if !empty {
			return waitEvent(ctx, g.anchor, "populated", 0)
		}
	}
	pids, err := members(dir)
	if err != nil {
		return err
	}
	if len(pids) > 0 && !hasForeign(pids) {
		return waitExit(ctx, pids)
	}
	// Busy without processes: the last task is still being taken off the group after
	// its exit became visible, or (pid 0) it belongs to a pid namespace that cannot be
	// seen from here. The kernel announces neither.
	return pause(ctx, time.Millisecond)
}

// hasForeign finds processes outside of the caller's pid namespace, listed as 0.
func hasForeign(pids []int) bool {
	for _, pid := range pids {
		if pid <= 0 {
			return true
		}
	}
	return false
}

// removeTree removes dir after its sub-groups.
func removeTree(dir *os.File) error {
	err := rmdir(dir)
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	names, err := children(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		sub, err := openDir(dir, name)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		err = removeTree(sub)
		_ = sub.Close() // opened for reading only
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return rmdir(dir)
}
