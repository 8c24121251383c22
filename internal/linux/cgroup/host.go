package cgroup

import (
	"fmt"
	"os"
)

// Layout names the kind of cgroup hierarchy a host has; see the package comment.
type Layout string

// The layouts, as they appear in the answer of doctor.
const (
	Unified Layout = "unified"
	Hybrid  Layout = "hybrid"
	V1      Layout = "v1"
	None    Layout = "none"
)

// Host is what a process in the caller's place can do with control groups.
type Host struct {
	Layout  Layout
	Path    string            // where the anchor groups are made; empty for None
	Reason  string            // for None: why no group can be made
	Missing map[string]string // limit → why it cannot be enforced
	Hint    string            // what to do about Reason or Missing; empty when all is well
}

// Detect only reads, so it can run beside a daemon. It predicts what [Open] would
// find from the same place.
func Detect(name string) (Host, error) {
	l, err := readLayout("/proc")
	if err != nil {
		return Host{}, err
	}
	return survey(l, name, os.Getpid()).host(), nil
}

// plan is the decision where the groups of every controller will be made.
type plan struct {
	layout  Layout
	unified *place            // the anchor, unless freezer is set
	freezer string            // the anchor's directory on v1
	v1      map[string]string // controller → directory
	hasV1   bool              // the host has v1 controllers, usable or not
	reason  string
	missing map[string]string
}

// survey decides from l; it changes nothing.
func survey(l layout, name string, pid int) plan {
	p := plan{v1: map[string]string{}, missing: map[string]string{}, hasV1: len(l.v1) > 0}
	p.anchor(l, name, pid)
	for _, controller := range []string{CPU, Memory, PIDs} {
		p.limiter(l, controller)
	}
	return p
}

// anchor picks the hierarchy that holds every process: cgroup2, else the v1 freezer.
func (p *plan) anchor(l layout, name string, pid int) {
	p.layout = None
	p.reason = "no cgroup2 and no v1 freezer hierarchy is mounted"
	if s := l.unified; s != nil {
		if p.reason = s.problem; s.problem == "" {
			chosen := choosePlace(s, name, pid)
			p.reason = chosen.problem
			p.unified = &chosen
		}
	}
	if p.reason == "" {
		p.layout = Unified
		if p.hasV1 {
			p.layout = Hybrid
		}
		return
	}
	p.unified = nil
	s := l.v1[freezer]
	if s == nil {
		return
	}
	if problem := s.obstacle(); problem != "" {
		p.reason = problem
		return
	}
	p.layout, p.reason, p.freezer = V1, "", s.dir
}

// limiter decides where controller's limit is written, or why nowhere.
func (p *plan) limiter(l layout, controller string) {
	if p.layout == None {
		p.missing[controller] = p.reason
		return
	}
	if s := l.v1[controller]; s != nil {
		if problem := s.obstacle(); problem != "" {
			p.missing[controller] = problem
			return
		}
		p.v1[controller] = s.dir
		return
	}
	if p.unified == nil {
		p.missing[controller] = fmt.Sprintf("controller %s is not mounted", controller)
		return
	}
	if why, ok := p.unified.withheld[controller]; ok {
		p.missing[controller] = why
	}
}

// obstacle says why no group can be made in s, or nothing.
func (s *site) obstacle() string {
	if s.problem != "" {
		return s.problem
	}
	if err := writable(s.dir); err != nil {
		return fmt.Sprintf("create a group in %s: %v", s.dir, err)
	}
	return ""
}

func (p plan) host() Host {
	h := Host{Layout: p.layout, Reason: p.reason, Missing: p.missing}
	switch {
	case p.unified != nil:
		h.Path = p.unified.path
	case p.freezer != "":
		h.Path = p.freezer
	}
	if h.Reason != "" || len(h.Missing) > 0 {
		h.Hint = p.hint()
	}
	return h
}

// hint differs by what the administrator can do: cgroup2 can be delegated to a user by
// systemd, v1 hierarchies cannot safely be.
func (p plan) hint() string {
	if p.hasV1 {
		return "v1 controllers need root: run the daemon as root, or boot with systemd.unified_cgroup_hierarchy=1"
	}
	return "start the daemon in a delegated group: systemd-run --user --scope -p Delegate=yes coop daemon"
}
