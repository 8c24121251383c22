package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/launch"
	"github.com/coop-dev/coop/internal/linux/caps"
	"github.com/coop-dev/coop/internal/linux/cgroup"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/rootfs"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/workspace"
)

// launch brings a sandbox up from its record: directories, control group,
// mounts, PID 1. On an error nothing of it is left but the directory. It notes in
// the record what is degraded. entitled, nil for a sandbox that exists, returns
// when the record of a new one is written: nothing runs before that.
func (e *Engine) launch(ctx context.Context, r *sandbox.Record, src *workspace.Source, entitled func() error) (l *live, err error) {
	var u undo
	defer func() {
		if err != nil {
			u.run()
		}
	}()
	files := rootfs.Params{Dir: e.dir(r.ID), Spec: r.Spec, IDBase: r.IDBase, Workspace: src}
	files.OwnerUID, files.OwnerGID = ownerInside(r.Spec.Agent.User)
	key, err := e.system(ctx, r.Spec, &files)
	if err != nil {
		return nil, err
	}
	files.Driver = r.Driver
	mounts := begin(func() (filesystem, error) { return e.furnished(ctx, r, files, entitled != nil) })
	u.add(func() {
		if res, merr := mounts.wait(); merr == nil {
			res.Close()
		}
	})
	r.Degraded = append(e.weaknesses(), imageWeakness(r.Spec)...)
	r.Degraded = append(r.Degraded, e.emulation(r.Spec)...)
	group, err := e.makeGroup(r)
	if err != nil {
		return nil, err
	}
	if group != nil {
		u.add(func() { e.removeGroup(r.ID, group) })
	}
	params, err := e.params(r, group)
	if err != nil {
		return nil, err
	}
	params.State.Host = key
	params.Mounts = func() ([]*os.File, *initproto.Setup, error) {
		if entitled != nil {
			if err := entitled(); err != nil {
				return nil, nil, err
			}
		}
		res, err := mounts.wait()
		if err != nil {
			return nil, nil, err
		}
		setup := params.Setup
		setup.Hostname, setup.Mounts, setup.Keep = r.Spec.Name, res.Mounts, res.Keep
		return res.Files, &setup, nil
	}
	in, missing, err := launch.Start(ctx, e.Program, params)
	if err != nil {
		return nil, err
	}
	if res, merr := mounts.wait(); merr == nil && entitled != nil {
		r.Driver, r.DriverReason = res.driver, res.reason
	}
	for _, m := range missing {
		r.Degraded = append(r.Degraded, sandbox.Degraded{Fence: m.Fence, Reason: m.Reason})
	}
	l = &live{id: r.ID, spec: r.Spec, made: r.CreatedAt, init: in, group: group, terminals: newTerminals()}
	l.terminals.live.Store(l)
	return l, nil
}

// ownerInside says who the workspace belongs to inside: the agent's user where
// it is given by number, otherwise root.
func ownerInside(user string) (uid, gid uint32) {
	first, second, both := strings.Cut(user, ":")
	n, err := strconv.ParseUint(first, 10, 16)
	if err != nil {
		return 0, 0
	}
	g, err := strconv.ParseUint(second, 10, 16)
	if !both || err != nil {
		g = n
	}
	return uint32(n), uint32(g)
}

// weaknesses of the host that hold for every sandbox.
func (e *Engine) weaknesses() []sandbox.Degraded {
	if e.Groups {
		return nil
	}
	groups, err := os.Getgroups()
	if err != nil || len(groups) == 0 || (len(groups) == 1 && groups[0] == os.Getgid()) {
		return nil
	}
	return []sandbox.Degraded{{
		Fence:  "groups",
		Reason: "your supplementary groups cannot be dropped without newgidmap and a subgid range (package uidmap)",
	}}
}

// makeGroup makes the control group. A limit the user asked for must hold; a
// built-in one that cannot is reported.
func (e *Engine) makeGroup(r *sandbox.Record) (*cgroup.Group, error) {
	lim := r.Spec.Limits
	want := cgroup.Limits{CPU: lim.CPU, MemoryBytes: lim.MemoryBytes, PIDs: lim.PIDs}
	missing := e.Cgroups.Missing(want)
	for _, name := range []string{cgroup.CPU, cgroup.Memory, cgroup.PIDs} {
		reason, ok := missing[name]
		if !ok {
			continue
		}
		if slices.Contains(lim.Asked, name) && !slices.Contains(r.Spec.Security.Optional, "limits") {
			return nil, sandbox.Errorf(sandbox.Unavailable, "the %s limit cannot be enforced here: %s", name, reason).
				WithHint("leave the limit out, or accept a sandbox without it with --optional limits").WithDetail("limit", name)
		}
		r.Degraded = append(r.Degraded, sandbox.Degraded{Fence: "limits", Reason: name + ": " + reason})
		clearLimit(&want, name)
	}
	if e.Cgroups.Host().Layout == cgroup.None {
		return nil, nil
	}
	g, err := e.Cgroups.Create(string(r.ID), want)
	if err != nil {
		return nil, sandbox.Errorf(sandbox.Unavailable, "control group: %w", err).WithHint("run coop doctor")
	}
	return g, nil
}

func clearLimit(l *cgroup.Limits, name string) {
	switch name {
	case cgroup.CPU:
		l.CPU = 0
	case cgroup.Memory:
		l.MemoryBytes = 0
	case cgroup.PIDs:
		l.PIDs = 0
	}
}

// params is everything launch needs to know.
func (e *Engine) params(r *sandbox.Record, group *cgroup.Group) (launch.Params, error) {
	without := fencesTakenAway(r)
	emulate := e.emulatesRoot(r.Spec)
	filter, err := e.filters.get(r.Spec.Security.Seccomp, emulate, without)
	if err != nil {
		return launch.Params{}, err
	}
	p := launch.Params{
		Dir: e.dir(r.ID), UIDs: e.UIDs.Identity(), GIDs: e.GIDs.Identity(), Groups: e.Groups,
		Setup: initproto.Setup{
			ReadonlyRoot: r.Spec.Security.ReadonlyRoot, User: r.Spec.Agent.User,
			OwnNet: r.Spec.Network != sandbox.NetworkHost, Groups: e.Groups, OneID: emulate,
			Bounding: uint64(caps.Programs), Seccomp: filter, Optional: r.Spec.Security.Optional, Without: without,
		},
	}
	if r.Spec.Workspace.Mode == sandbox.ModeNone {
		p.Setup.Workspace = r.Spec.Workspace.Path
	}
	if e.root {
		p.UIDs, p.GIDs = idmap.Based(r.IDBase), idmap.Based(r.IDBase)
	}
	if group != nil {
		state := group.State()
		p.State.Cgroup = &state
		p.CgroupFD, _ = group.CloneFD() // on v1 there is none, and Around does it all
		p.Around = func(clone func() error) error { return e.Cgroups.Start(group, clone) }
	}
	return p, nil
}

// diskError gives a full or read-only disk its own words.
func diskError(err error) error {
	var known *sandbox.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return sandbox.Errorf(sandbox.Unavailable, "the disk is full: %w", err).
			WithHint("free some space where COOP_HOME is, or remove sandboxes with coop rm")
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES):
		return sandbox.Errorf(sandbox.Unavailable, "COOP_HOME is not writable: %w", err).
			WithHint("set COOP_HOME to a directory you own")
	}
	return fmt.Errorf("create sandbox: %w", err)
}
