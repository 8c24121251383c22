package cgroup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrUnavailable is wrapped by the errors of [Parent.Create] on a host where no group
// can be made, or not with the limits asked for.
var ErrUnavailable = errors.New("control group unavailable")

// Parent is the group beneath which one daemon makes the groups of its sandboxes. It
// is safe for concurrent use.
type Parent struct {
	name   string
	host   Host
	v2     bool                // the anchor is cgroup2
	anchor *os.File            // nil if the layout is None
	v1     map[string]*os.File // controller → parent in its v1 hierarchy
	own    map[string]*os.File // controller → the daemon's own v1 group
}

// Open makes the group name where groups can be made. On cgroup2 it may move the
// calling process into a leaf beside it, and nobody else. Daemons that share a group
// must use different names: [Parent.Orphans] takes everything beneath as its own.
// A host without usable groups is not an error here; see [Parent.Host].
func Open(name string) (*Parent, error) {
	l, err := readLayout("/proc")
	if err != nil {
		return nil, err
	}
	return openLayout(l, name)
}

func openLayout(l layout, name string) (*Parent, error) {
	if err := checkID(name); err != nil {
		return nil, err
	}
	todo := survey(l, name, os.Getpid())
	p := &Parent{name: name, v1: map[string]*os.File{}, own: map[string]*os.File{}}
	if err := p.openAnchor(&todo); err != nil {
		todo = todo.without(err)
	}
	for controller, dir := range todo.v1 {
		if err := p.openV1(controller, dir); err != nil {
			todo.missing[controller] = err.Error()
		}
	}
	p.host = todo.host()
	return p, nil
}

// openV1 keeps the daemon's own group dir of controller and makes the parent in it.
func (p *Parent) openV1(controller, dir string) (err error) {
	if p.own[controller], err = openPath(dir); err != nil {
		delete(p.own, controller)
		return err
	}
	made, err := makeDir(dir, p.name)
	if err == nil {
		p.v1[controller] = made
	}
	return err
}

// openAnchor makes the parent of the anchors and hands the controllers down to it and
// from it.
func (p *Parent) openAnchor(todo *plan) (err error) {
	if todo.freezer != "" {
		err := p.openV1(freezer, todo.freezer)
		p.anchor = p.v1[freezer]
		delete(p.v1, freezer)
		return err
	}
	if todo.unified == nil {
		return nil
	}
	p.v2 = true
	above, err := openPath(todo.unified.path)
	if err != nil {
		return err
	}
	defer above.Close()
	maps.Copy(todo.missing, todo.unified.open(above, p.name))
	if p.anchor, err = makeDir(todo.unified.path, p.name); err != nil {
		return err
	}
	maps.Copy(todo.missing, handDown(p.anchor, todo.inherited()))
	return nil
}

// without is the plan after the anchor could not be made: nothing can be.
func (p *plan) without(err error) plan {
	none := plan{layout: None, hasV1: p.hasV1, reason: err.Error(), missing: map[string]string{}}
	for _, controller := range []string{CPU, Memory, PIDs} {
		none.missing[controller] = none.reason
	}
	return none
}

// inherited lists the controllers that cgroup2 provides to the parent.
func (p *plan) inherited() []string {
	var names []string
	for _, controller := range []string{CPU, Memory, PIDs} {
		if p.missing[controller] == "" && p.v1[controller] == "" {
			names = append(names, controller)
		}
	}
	return names
}

// makeDir makes and opens the group name in dir; one that exists is taken over.
func makeDir(dir, name string) (*os.File, error) {
	above, err := openPath(dir)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := mkdir(above, name); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, err
	}
	return openDir(above, name)
}

// Host is what Open really found, which can be less than [Detect] predicted.
func (p *Parent) Host() Host { return p.host }

// Missing returns, for the limits set in l, why each that cannot be enforced cannot.
// The engine refuses a sandbox for those its user asked for and marks it degraded for
// those that are built-in defaults, which it then leaves out of [Parent.Create].
func (p *Parent) Missing(l Limits) map[string]string {
	missing := map[string]string{}
	for _, controller := range l.controllers() {
		if why, ok := p.host.Missing[controller]; ok {
			missing[controller] = why
		}
	}
	return missing
}

// Close releases the descriptors and removes the parent groups that are empty; groups
// of living sandboxes stay for the next daemon. It may be called twice.
func (p *Parent) Close() error {
	dirs := maps.Clone(p.v1)
	if p.anchor != nil {
		dirs[freezer] = p.anchor
	}
	var errs []error
	for _, dir := range dirs {
		err := rmdir(dir)
		if err != nil && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
		_ = dir.Close() // a second Close reports ErrClosed, which is no fault
	}
	for _, dir := range p.own {
		_ = dir.Close() // likewise
	}
	return errors.Join(errs...)
}

// checkID keeps names to what cannot be a path, a control file ("cgroup.procs") or an
// option.
func checkID(id string) error {
	ok := id != "" && len(id) <= 64 && id[0] != '-'
	for _, c := range id {
		ok = ok && strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_", c)
	}
	if !ok {
		return fmt.Errorf("group name %q: must be 1 to 64 of a-z, 0-9, - and _", id)
	}
	return nil
}
