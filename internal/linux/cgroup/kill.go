package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of killing by hand, where the kernel has no cgroup.kill (before 5.14, or v1).
const (
	freezeForKill = time.Second // a task in uninterruptible sleep never freezes
	killPasses    = 1000
)

// Kill sends SIGKILL to every process of the group and its sub-groups, frozen or not,
// such that none escapes by forking. It does not wait for them to end; [Group.Remove]
// does. A group that is gone is no error.
func (g *Group) Kill() error {
	err := g.kill()
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("kill group %s: %w", g.state.ID, err)
	}
	return nil
}

func (g *Group) kill() error {
	if g.state.Unified {
		err := writeControl(g.anchor, "cgroup.kill", "1")
		if !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return g.killByHand()
}

// killByHand freezes the group, so that its list of processes stands still, signals
// every one and thaws it, whereupon they die before they run another instruction.
func (g *Group) killByHand() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), freezeForKill)
	defer cancel()
	err = g.freeze(ctx)
	if errors.Is(err, unix.ENOENT) {
		return nil // gone
	}
	if err != nil && ctx.Err() == nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Thaw()) }()
	return killMembers(g.anchor)
}

// killMembers signals until a pass finds nobody new. One pass is enough for a group
// that is frozen; a group that would not freeze may fork between the passes.
func killMembers(dir *os.File) error {
	done := map[int]bool{}
	for range killPasses {
		pids, err := members(dir)
		if err != nil {
			return err
		}
		pids = slices.DeleteFunc(pids, func(pid int) bool { return done[pid] })
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			done[pid] = true
			if err := killMember(dir, pid); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("still forking after %d passes", killPasses)
}

// killMember signals pid if it is still a member after its pidfd was opened: the
// number read before may by now belong to a stranger.
func killMember(dir *os.File, pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(fd)
	pids, err := members(dir)
	if err != nil || !slices.Contains(pids, pid) {
		return err
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return os.NewSyscallError("pidfd_send_signal", err)
	}
	return nil
}
