package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// place is a cgroup2 directory considered for the parent of all sandboxes' groups.
type place struct {
	path     string
	problem  string            // why no group can be made here at all, or empty
	withheld map[string]string // controller → why the children would not have it
	enable   []string          // controllers still to be written to subtree_control
	leave    bool              // the caller must move to a leaf before that
}

// choosePlace prefers the caller's own group, so that limits set on the daemon hold
// for its sandboxes too. A root daemon started from a login session shares its group
// with the shell and cannot hand controllers down from there; like other runtimes it
// then goes to the top of the hierarchy, which an ordinary user cannot write.
func choosePlace(s *site, name string, pid int) place {
	own := inspect(ownOrAbove(s.dir, name), pid)
	if own.problem == "" && len(own.withheld) == 0 || s.top == own.path {
		return own
	}
	top := inspect(s.top, pid)
	if top.problem == "" && len(top.withheld) < len(own.withheld) {
		return top
	}
	if own.problem != "" && top.problem == "" {
		return top
	}
	return own
}

// ownOrAbove steps out of the leaf that an earlier daemon of the same process, before
// it executed itself again, had moved to.
func ownOrAbove(dir, name string) string {
	if filepath.Base(dir) == leafName(name) {
		return filepath.Dir(dir)
	}
	return dir
}

func leafName(name string) string { return name + "-daemon" }

// inspect only reads: what it predicts, Open then tries.
func inspect(path string, pid int) place {
	p := place{path: path, withheld: map[string]string{}}
	if err := writable(path); err != nil {
		p.problem = fmt.Sprintf("create a group in %s: %v", path, err)
		return p
	}
	dir, err := openPath(path)
	if err != nil {
		p.problem = err.Error()
		return p
	}
	defer dir.Close()
	for _, controller := range []string{CPU, Memory, PIDs} {
		p.consider(dir, controller, pid)
	}
	return p
}

// consider decides whether controller can be handed to the children of dir.
func (p *place) consider(dir *os.File, controller string, pid int) {
	if listed(dir, "cgroup.subtree_control", controller) {
		return
	}
	if !listed(dir, "cgroup.controllers", controller) {
		p.withheld[controller] = fmt.Sprintf("controller %s is not available in %s", controller, p.path)
		return
	}
	if err := writable(filepath.Join(p.path, "cgroup.subtree_control")); err != nil {
		p.withheld[controller] = fmt.Sprintf("hand controller %s down from %s: %v", controller, p.path, err)
		return
	}
	self, others := occupants(dir, pid)
	if others > 0 {
		// cgroups(7), no internal processes: a group with processes cannot hand
		// controllers down, and other people's processes are not ours to move.
		p.withheld[controller] = fmt.Sprintf("%s also holds %d other processes, so the kernel hands no controllers down from it", p.path, others)
		return
	}
	p.enable = append(p.enable, controller)
	p.leave = p.leave || self
}

// occupants says whether pid and how many others are in dir itself. The root group is
// exempt from the rule, so it counts as empty.
func occupants(dir *os.File, pid int) (self bool, others int) {
	if _, err := readControl(dir, "cgroup.type"); errors.Is(err, unix.ENOENT) {
		return false, 0 // only the root lacks this file
	}
	text, err := readControl(dir, "cgroup.procs")
	if err != nil {
		return false, 1 // unreadable: do not assume it is empty
	}
	for _, p := range parsePIDs(text) {
		if p == pid {
			self = true
		} else {
			others++
		}
	}
	return self, others
}

// listed says whether a space separated control file holds word.
func listed(dir *os.File, file, word string) bool {
	text, err := readControl(dir, file)
	return err == nil && slices.Contains(strings.Fields(text), word)
}

// writable asks the kernel with the effective ids; for root it still sees read-only
// mounts.
func writable(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS)
}

// open does what inspect planned and returns why some controllers are withheld after
// all.
func (p *place) open(dir *os.File, name string) map[string]string {
	if !p.leave {
		return handDown(dir, p.enable)
	}
	err := moveSelf(dir, name)
	if err == nil {
		return handDown(dir, p.enable)
	}
	withheld := map[string]string{}
	for _, controller := range p.enable {
		withheld[controller] = err.Error()
	}
	return withheld
}

// handDown enables the controllers for the children of dir and returns why some could
// not be. Each is written alone, because one refused name spoils the whole write.
func handDown(dir *os.File, controllers []string) map[string]string {
	refused := map[string]string{}
	for _, controller := range controllers {
		if listed(dir, "cgroup.subtree_control", controller) {
			continue
		}
		if err := writeControl(dir, "cgroup.subtree_control", "+"+controller); err != nil {
			refused[controller] = err.Error()
		}
	}
	return refused
}

// moveSelf takes the calling process into the leaf group below dir, so that dir can
// hand controllers down.
func moveSelf(dir *os.File, name string) error {
	if err := mkdir(dir, leafName(name)); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	leaf, err := openDir(dir, leafName(name))
	if err != nil {
		return err
	}
	defer leaf.Close()
	return writeControl(leaf, "cgroup.procs", "0") // 0 is the writer itself
}
