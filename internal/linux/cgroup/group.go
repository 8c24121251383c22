package cgroup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Group is the control group of one sandbox. It is safe for concurrent use.
type Group struct {
	state  State
	anchor *os.File
	v1     map[string]*os.File
}

// State is what a later daemon needs to find the group again. The paths are kept
// because that daemon may itself be in another group and would look elsewhere.
type State struct {
	ID      string            `json:"id"`
	Unified bool              `json:"unified"`      // Anchor is in cgroup2
	Anchor  string            `json:"anchor"`       // directory that holds every process
	V1      map[string]string `json:"v1,omitempty"` // controller → directory
}

// Create makes the group of sandbox id and sets its limits. It is all or nothing. A
// limit that cannot be enforced is an error that wraps [ErrUnavailable].
func (p *Parent) Create(id string, l Limits) (*Group, error) {
	if err := errors.Join(checkID(id), l.check()); err != nil {
		return nil, err
	}
	if p.anchor == nil {
		return nil, fmt.Errorf("create group %s: %w: %s", id, ErrUnavailable, p.host.Reason)
	}
	for limit, why := range p.Missing(l) {
		return nil, fmt.Errorf("create group %s: limit %s: %w: %s", id, limit, ErrUnavailable, why)
	}
	g := &Group{state: State{ID: id, Unified: p.v2, V1: map[string]string{}}, v1: map[string]*os.File{}}
	if err := g.make(p, l); err != nil {
		g.discard()
		return nil, fmt.Errorf("create group %s: %w", id, err)
	}
	return g, nil
}

// make fills g step by step, so that discard finds whatever was made.
func (g *Group) make(p *Parent, l Limits) (err error) {
	if g.anchor, err = g.makeIn(p.anchor); err != nil {
		return err
	}
	g.state.Anchor = g.anchor.Name()
	for _, controller := range l.controllers() {
		above, ok := p.v1[controller]
		if !ok {
			if err := l.apply(g.anchor, controller, 2); err != nil {
				return err
			}
			continue
		}
		dir, err := g.makeIn(above)
		if err != nil {
			return err
		}
		g.v1[controller] = dir
		g.state.V1[controller] = dir.Name()
		if err := l.apply(dir, controller, 1); err != nil {
			return err
		}
	}
	return nil
}

func (g *Group) makeIn(above *os.File) (*os.File, error) {
	if err := mkdir(above, g.state.ID); err != nil {
		return nil, err
	}
	return openDir(above, g.state.ID)
}

// discard takes back a half made group. Nothing can be in it yet.
func (g *Group) discard() {
	for _, dir := range g.dirs() {
		_ = rmdir(dir) // the error that led here is the one to report
	}
	_ = g.Close() // only descriptors
}

// Reopen finds the group of s again. It fails with fs.ErrNotExist when the anchor is
// gone, and then all of the group is; v1 groups that are gone are left out.
func Reopen(s State) (*Group, error) {
	anchor, err := openPath(s.Anchor)
	if err != nil {
		return nil, fmt.Errorf("reopen group %s: %w", s.ID, err)
	}
	g := &Group{state: s, anchor: anchor, v1: map[string]*os.File{}}
	g.state.V1 = map[string]string{}
	for controller, path := range s.V1 {
		dir, err := openPath(path)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			_ = g.Close() // only descriptors
			return nil, fmt.Errorf("reopen group %s: %w", s.ID, err)
		}
		g.v1[controller] = dir
		g.state.V1[controller] = path
	}
	return g, nil
}

// State returns what [Reopen] needs; store it before the first process starts.
func (g *Group) State() State {
	s := g.state
	s.V1 = maps.Clone(s.V1)
	return s
}

// dirs lists the anchor last. It is made first and removed last, so that as long as
// anything is left Reopen finds it.
func (g *Group) dirs() []*os.File {
	var dirs []*os.File
	for _, controller := range slices.Sorted(maps.Keys(g.v1)) {
		dirs = append(dirs, g.v1[controller])
	}
	if g.anchor != nil {
		dirs = append(dirs, g.anchor)
	}
	return dirs
}

// CloneFD returns the directory for CLONE_INTO_CGROUP (SysProcAttr.CgroupFD), open
// until Close; there is none on v1. As an ordinary user the kernel allows it only to a
// process inside the delegated tree. Clone within [Parent.Start], for the v1 groups.
func (g *Group) CloneFD() (dir *os.File, ok bool) { return g.anchor, g.state.Unified }

// Add moves a process that lives already into the group. Only children made afterwards
// inherit the place, so the process must still be waiting for its first order. It is
// slow; [Parent.Start] is the usual way.
func (g *Group) Add(pid int) error {
	for _, dir := range g.dirs() {
		if err := writeControl(dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("add process %d to group %s: %w", pid, g.state.ID, err)
		}
	}
	return nil
}

// maxSubGroups bounds what a delegatee can make: each sub-group is kernel memory that
// no limit of the sandbox counts on v1.
const maxSubGroups = 4096

// Delegate lets uid, usually root of the sandbox as the caller sees it, make
// sub-groups and move its processes between them: one for each exec. The limits stay
// the caller's. Only cgroup2 can be delegated safely.
func (g *Group) Delegate(uid, gid int) error {
	if !g.state.Unified {
		return fmt.Errorf("delegate group %s: %w: no cgroup2", g.state.ID, ErrUnavailable)
	}
	if err := writeControl(g.anchor, "cgroup.max.descendants", strconv.Itoa(maxSubGroups)); err != nil {
		return fmt.Errorf("delegate group %s: %w", g.state.ID, err)
	}
	for _, name := range []string{".", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
		err := withFD(g.anchor, "chown", name, func(fd int) error {
			return unix.Fchownat(fd, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
		})
		if err != nil {
			return fmt.Errorf("delegate group %s: %w", g.state.ID, err)
		}
	}
	return nil
}

// Close releases the descriptors and leaves the group as it is. It may be called twice.
func (g *Group) Close() error {
	for _, dir := range g.dirs() {
		_ = dir.Close() // a second Close reports ErrClosed, which is no fault
	}
	return nil
}

// rmdir removes the group dir through its own descriptor, so that no path above it
// is walked.
func rmdir(dir *os.File) error {
	name := "../" + filepath.Base(dir.Name())
	return withFD(dir, "rmdir", name, func(fd int) error { return unix.Unlinkat(fd, name, unix.AT_REMOVEDIR) })
}
