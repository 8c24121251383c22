package cgroup

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Start runs start, which is to clone the sandbox's first process, such that the
// process is in g's v1 groups from its first instruction. In cgroup2 start itself puts
// it there, with [Group.CloneFD].
//
// Moving a process afterwards, as [Group.Add] does, takes a lock for which the kernel
// waits an RCU grace period: 7 to 50 ms on an idle host. A thread that moves only
// itself does not need the lock (cgroup_procs_write_start in kernel/cgroup/cgroup.c),
// and a child inherits the place of the thread that forks it. So a thread goes into the
// groups, forks and comes back, in microseconds. It counts against the pids limit
// meanwhile.
func (p *Parent) Start(g *Group, start func() error) error {
	visits := g.visits()
	if len(visits) == 0 {
		return start()
	}
	done := make(chan error)
	go func() { done <- p.startVisiting(g, visits, start) }()
	return <-done
}

// visits lists the v1 groups, by controller, that a clone cannot reach.
func (g *Group) visits() map[string]*os.File {
	visits := map[string]*os.File{}
	for controller, dir := range g.v1 {
		visits[controller] = dir
	}
	if !g.state.Unified {
		visits[freezer] = g.anchor
	}
	return visits
}

// startVisiting stays locked to its thread when it cannot come back: the runtime then
// ends the thread together with the goroutine, and nothing else ever runs in g. The
// runtime starts no threads from a locked one, so none of the daemon's is born in g.
func (p *Parent) startVisiting(g *Group, visits map[string]*os.File, start func() error) error {
	runtime.LockOSThread()
	err := enter(visits)
	if err == nil {
		err = start()
	} else {
		err = fmt.Errorf("enter group %s: %w", g.state.ID, err)
	}
	if p.leave(visits) == nil {
		runtime.UnlockOSThread()
	}
	return err
}

// enter moves the calling thread.
func enter(dirs map[string]*os.File) error {
	for _, dir := range dirs {
		if err := writeControl(dir, "tasks", "0"); err != nil {
			return err
		}
	}
	return nil
}

// leave takes the calling thread back to where the daemon is.
func (p *Parent) leave(visits map[string]*os.File) error {
	var errs []error
	for controller := range visits {
		dir, ok := p.own[controller]
		if !ok {
			errs = append(errs, fmt.Errorf("own %s group is not known", controller))
			continue
		}
		errs = append(errs, writeControl(dir, "tasks", "0"))
	}
	return errors.Join(errs...)
}
