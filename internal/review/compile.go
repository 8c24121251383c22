package review

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// plan is what an op is made of. A put of a directory that is not there yet has
// the edits of everything in it: it is staged as a tree and appears at once.
type plan struct {
	edits []Edit // the first is the op's own path, unless that is a directory nobody asked for
	tree  bool
	top   string
	had   *within.Stat
	owner within.Stat // of the directory it is put into
}

// place is what a directory's path is in the project before the request.
type place int

const (
	unknown place = iota
	directory
	missing
	other // a file, or a link: never followed
)

// compile turns edits into ops and looks at everything they rest on. Nothing is
// touched.
func (w *work) compile(edits []Edit) error {
	edits, err := order(edits)
	if err != nil {
		return err
	}
	c := compiler{work: w, places: map[string]place{"": directory}, prefix: tmpPrefix + random()}
	for i := 0; i < len(edits); {
		n, err := c.edit(edits[i:])
		if err != nil {
			return err
		}
		i += n
	}
	w.ops, w.plans = append(w.ops, c.modes...), append(w.plans, c.modePlans...)
	w.inos = make([]uint64, len(w.ops))
	return nil
}

func random() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}

type compiler struct {
	*work
	places map[string]place
	prefix string

	// Permissions change last: a directory may become read-only.
	modes     []op
	modePlans []plan
}

// edit compiles the first of the edits and says how many it has taken: what lies
// below a new or a removed directory belongs to it.
func (c *compiler) edit(rest []Edit) (int, error) {
	e := rest[0]
	switch e.Action {
	case Remove:
		return c.remove(rest)
	case Chmod:
		return 1, c.chmod(e)
	}
	top, at, err := c.top(e.Path)
	if err != nil {
		return 0, err
	}
	switch {
	case top == e.Path && e.Action == MakeDir && at == directory:
		return 1, nil // it is there already
	case top == e.Path && e.Action != MakeDir:
		return c.put(rest)
	case top != e.Path && at == other:
		return 0, sandbox.Errorf(sandbox.Conflict, "%.128q is not a directory in the project", top).
			WithHint("approve %.128q itself as well, or move it out of the way", top)
	}
	n := 1
	for n < len(rest) && below(rest[n].Path, top) {
		n++
	}
	return n, c.add(opPut, plan{edits: rest[:n], tree: true, top: top})
}

// top finds the first component of a path that is not a directory in the
// project, the path itself at the latest.
func (c *compiler) top(p string) (string, place, error) {
	for i := 0; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		at, err := c.look(p[:i])
		if err != nil || at != directory || i == len(p) {
			return p[:i], at, err
		}
	}
	return p, missing, nil
}

func (c *compiler) look(p string) (place, error) {
	if at := c.places[p]; at != unknown {
		return at, nil
	}
	st, err := c.lstat(p)
	at := other
	switch {
	case errors.Is(err, fs.ErrNotExist):
		at = missing
	case err != nil:
		return unknown, c.explain(p, err)
	case st.Mode.IsDir():
		at = directory
	}
	c.places[p] = at
	return at, nil
}

// lstat looks at a path whose directory is known to be one.
func (c *compiler) lstat(p string) (within.Stat, error) {
	dir, err := c.parent(p)
	if err != nil {
		return within.Stat{}, err
	}
	return within.Lstat(dir, path.Base(p))
}

func (c *compiler) parent(p string) (*os.File, error) {
	i, err := c.dirs.note(dirOf(p))
	if err != nil {
		return nil, err
	}
	return c.dirs.get(i)
}

// dirOf is the directory of a path; "" is the project itself.
func dirOf(p string) string {
	i := strings.LastIndexByte(p, '/')
	return p[:max(i, 0)]
}

// put compiles a file or link, and swallows removals of what a directory at its
// place had in it.
func (c *compiler) put(rest []Edit) (int, error) {
	n := 1
	for n < len(rest) && below(rest[n].Path, rest[0].Path) {
		if rest[n].Action != Remove {
			return 0, fmt.Errorf("%q lies below a file", rest[n].Path)
		}
		n++
	}
	return n, c.add(opPut, plan{edits: rest[:1], top: rest[0].Path})
}

func (c *compiler) remove(rest []Edit) (int, error) {
	n := 1
	for n < len(rest) && below(rest[n].Path, rest[0].Path) {
		if rest[n].Action != Remove {
			return 0, fmt.Errorf("%q lies below a directory that is removed", rest[n].Path)
		}
		n++
	}
	if top, at, err := c.top(rest[0].Path); err != nil || at == missing || top != rest[0].Path {
		return n, err // it is gone already
	}
	return n, c.add(opRemove, plan{edits: rest[:1], top: rest[0].Path})
}

func (c *compiler) chmod(e Edit) error {
	st, err := c.lstat(e.Path)
	if err != nil {
		return c.explain(e.Path, err)
	}
	if err := c.seen(e, &st); err != nil {
		return err
	}
	if !st.Mode.IsRegular() && !st.Mode.IsDir() {
		return sandbox.Errorf(sandbox.Conflict, "%.128q has no permissions of its own in the project", e.Path)
	}
	if err := c.mayReplace(e.Path, st, opChmod); err != nil {
		return err
	}
	dir, err := c.dirs.note(dirOf(e.Path))
	if err != nil {
		return err
	}
	c.modes = append(c.modes, op{
		Kind: opChmod, Dir: dir, Name: []byte(path.Base(e.Path)), Had: true, Ino: st.Ino,
		Perm: uint32(e.Perm.Perm()), Was: uint32(st.Mode.Perm()),
	})
	c.modePlans = append(c.modePlans, plan{edits: []Edit{e}, top: e.Path, had: &st})
	return nil
}

// add makes an op out of a put or a removal.
func (c *compiler) add(kind opKind, p plan) error {
	dir, err := c.dirs.note(dirOf(p.top))
	if err != nil {
		return c.explain(p.top, err)
	}
	f, err := c.dirs.get(dir)
	if err != nil {
		return err
	}
	if p.owner, err = within.Fstat(f); err != nil {
		return err
	}
	if p.owner.Mode&0o200 == 0 {
		return sandbox.Errorf(sandbox.Denied, "directory %.128q is read-only", "./"+dirOf(p.top)).
			WithHint("chmod u+w it first")
	}
	st, err := within.Lstat(f, path.Base(p.top))
	if err == nil {
		p.had = &st
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.check(kind, p); err != nil {
		return err
	}
	o := op{Kind: kind, Dir: dir, Name: []byte(path.Base(p.top)), Had: p.had != nil}
	tmp := fmt.Sprintf("%s-%d", c.prefix, len(c.ops))
	if kind == opPut {
		o.Tmp = tmp
	}
	if p.had != nil {
		o.Old, o.Ino = tmp+"-old", p.had.Ino
	}
	c.ops, c.plans = append(c.ops, o), append(c.plans, p)
	return nil
}

// check compares what is there with what was there when the edit was decided
// upon.
func (c *compiler) check(kind opKind, p plan) error {
	if p.edits[0].Path == p.top {
		if err := c.seen(p.edits[0], p.had); err != nil {
			return err
		}
	}
	if p.had == nil {
		return nil
	}
	if p.had.Mode.IsDir() {
		return c.removable(p)
	}
	return c.mayReplace(p.top, *p.had, kind)
}

func (c *compiler) seen(e Edit, had *within.Stat) error {
	switch {
	case e.Seen == nil && had == nil:
		return nil
	case e.Seen == nil || had == nil || !unchanged(*e.Seen, *had):
		return changedMeanwhile(e.Path)
	}
	return nil
}

// unchanged compares two looks at an entry. A directory's times say what
// happened to other entries.
func unchanged(a, b within.Stat) bool {
	if a.Dev != b.Dev || a.Ino != b.Ino || a.Mode.Type() != b.Mode.Type() {
		return false
	}
	return a.Mode.IsDir() || (a.Size == b.Size && a.MTime.Equal(b.MTime) && a.CTime.Equal(b.CTime))
}

func changedMeanwhile(p string) error {
	return sandbox.Errorf(sandbox.Conflict, "%.128q was changed in the project meanwhile", p).
		WithHint("nothing was applied; look at the diff again")
}

// mayReplace refuses what a person has protected, unless forced.
func (c *compiler) mayReplace(p string, st within.Stat, kind opKind) error {
	switch {
	case c.Force || !st.Mode.IsRegular():
		return nil
	case st.Links > 1 && kind != opRemove:
		return sandbox.Errorf(sandbox.Denied, "%.128q has %d hard links, which would part", p, st.Links).
			WithHint("apply it all the same with --force")
	case st.Mode&0o200 == 0 && kind != opChmod:
		return sandbox.Errorf(sandbox.Denied, "%.128q is read-only in the project", p).
			WithHint("apply it all the same with --force")
	}
	return nil
}

// removable looks through a directory that is to go.
func (c *compiler) removable(p plan) error {
	if c.Keep == nil {
		return nil
	}
	f, err := c.parent(p.top)
	if err != nil {
		return err
	}
	return c.keepNothing(f, path.Base(p.top), p.top, 0)
}

// keepNothing asks Keep about everything in a directory, which may be called
// another name by now.
func (a *Applier) keepNothing(dir *os.File, name, p string, depth int) error {
	if depth > maxPathDepth {
		return fmt.Errorf("%q is too deep to be removed", p)
	}
	sub, err := within.OpenDir(dir, name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return within.EachName(sub, func(n string) error {
		st, err := within.Lstat(sub, n)
		if err != nil {
			return err
		}
		in := p + "/" + n
		if why := a.Keep(in, st); why != "" {
			return sandbox.Errorf(sandbox.Conflict, "%.128q cannot be removed: %.128q in it %s", p, in, why).
				WithHint("approve the other files by name, or use --force")
		}
		if st.Mode.IsDir() {
			return a.keepNothing(sub, n, in, depth+1)
		}
		return nil
	})
}

// explain says what a path in the project met.
func (c *compiler) explain(p string, err error) error {
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
		return sandbox.Errorf(sandbox.Denied, "%.128q would be reached through a link in the project", p).
			WithHint("links in a project are never followed")
	case errors.Is(err, fs.ErrNotExist):
		return changedMeanwhile(p)
	}
	return projectError(err)
}
