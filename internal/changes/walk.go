package changes

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sort"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/beneath"
	"github.com/coop-dev/coop/internal/sandbox"
)

// maxPath is the longest path the kernel takes. Programs can make deeper trees
// by going down step by step; those are listed at this depth and refused.
const maxPath = 4095

// attempts is how often a list is begun again when the sandbox changed what was
// being read. One that never holds still gets the list of the last attempt.
const attempts = 3

// Options narrow and judge a list.
type Options struct {
	Paths  []string // only these files and what lies below these directories; none means all
	Policy *Policy  // nil: DefaultPolicy
	Limits Limits   // zero fields are DefaultLimits
}

// List gives every difference, sorted by the raw bytes of the path.
func (w *Workspace) List(ctx context.Context, o Options) ([]Change, error) {
	if o.Policy == nil {
		o.Policy = DefaultPolicy()
	}
	o.Limits = o.Limits.withDefaults()
	for i := 1; ; i++ {
		walk := &walker{Workspace: w, ctx: ctx, Options: o, judge: o.Policy.judge()}
		if err := walk.run(); err != nil {
			return nil, err
		}
		if walk.unsteady && i < attempts {
			continue
		}
		list, err := walk.judged()
		sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
		return list, err
	}
}

// Any reports whether there is a difference at all; it stops at the first.
func (w *Workspace) Any(ctx context.Context) (bool, error) {
	walk := &walker{Workspace: w, ctx: ctx, Options: Options{Limits: DefaultLimits()}, judge: (&Policy{}).judge(), first: true}
	err := walk.run()
	if errors.Is(err, errFound) {
		return true, nil
	}
	return walk.unsteady, err
}

// errFound ends a walk that looks for one difference only.
var errFound = errors.New("found")

// walker goes through everything that may differ. It keeps a list of directories
// instead of calling itself: how deep a tree is, is the sandbox's choice.
type walker struct {
	*Workspace
	Options
	ctx      context.Context
	judge    *judge
	todo     []place
	out      []Change
	bulks    []*bulk
	first    bool
	unsteady bool
}

// place is one directory that may hold differences.
type place struct {
	path    string
	layered bool   // the layer has a directory here
	known   bool   // the project has a directory here
	base    string // the project's directory that shows through, see listing.base
	based   bool
	bulk    *bulk // the tree it belongs to that is denied as a whole
}

// bulk is a tree that is one change, however much in it differs.
type bulk struct {
	change  Change
	changed bool
}

func (w *walker) run() error {
	w.todo = []place{{layered: true, known: true, based: true}}
	for len(w.todo) > 0 {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		p := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		if p.bulk != nil && p.bulk.changed {
			continue
		}
		if err := w.visit(p); err != nil {
			return err
		}
	}
	for _, b := range w.bulks {
		if b.changed {
			w.out = append(w.out, b.change)
		}
	}
	return nil
}

// visit compares one directory of the workspace with the project's.
func (w *walker) visit(p place) error {
	v := view{place: p}
	defer v.close()
	err := w.open(&v)
	if vanished(err) {
		w.unsteady = true
		return nil
	}
	if err != nil {
		return tooMany(err)
	}
	if v.based && v.base == p.path {
		return w.compareLayer(&v)
	}
	return w.compareAll(&v)
}

// vanished reports that what was just seen is no longer there, or another thing.
func vanished(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

func tooMany(err error) error {
	if errors.Is(err, beneath.ErrTooMany) {
		return sandbox.Errorf(sandbox.TooLarge, "too many changes: %w", err).
			WithHint("name the paths that matter, or remove what the sandbox need not keep")
	}
	return err
}

// view is a place with its directories opened.
type view struct {
	place
	list    *listing // nil without a directory in the layer
	project *os.File // nil unless known
	through *os.File // the base, when it is not the project's directory itself
}

func (v *view) close() {
	if v.list != nil {
		v.list.close()
	}
	for _, f := range []*os.File{v.project, v.through} {
		if f != nil {
			f.Close()
		}
	}
}

func (w *walker) open(v *view) (err error) {
	natural, based := v.base, v.based
	if v.layered {
		if v.list, err = w.layer.read(v.path, w.Limits.Changes); err != nil {
			return err
		}
		v.base, v.based = v.list.base(natural, based)
	}
	if v.known {
		if v.project, err = beneath.Dir(w.project, v.path); err != nil {
			return err
		}
	}
	if err := w.openBase(v); err != nil || v.based || v.list == nil || v.list.redirect == nil {
		return err
	}
	// The directory that was moved is gone from the project, as after its move was
	// approved. The next start drops such a redirect (DeadRedirects).
	v.base, v.based = natural, based
	return w.openBase(v)
}

// openBase opens the base unless it is the project's directory at the same path.
// One that is not there any more shows nothing.
func (w *walker) openBase(v *view) (err error) {
	switch {
	case !v.based:
		return nil
	case v.base == v.path:
		v.based = v.known
		return nil
	}
	v.through, err = beneath.Dir(w.project, v.base)
	if vanished(err) {
		v.based, err = false, nil
	}
	return err
}

// compareLayer is the usual case: what the layer does not name is as in the
// project, and is not even looked at.
func (w *walker) compareLayer(v *view) error {
	for name, e := range v.list.entries {
		if err := w.compare(v, name, v.layerSide(name, e)); err != nil {
			return err
		}
	}
	return nil
}

// compareAll is for directories that are new, gone, replaced or moved: all that
// is in them counts.
func (w *walker) compareAll(v *view) error {
	have, err := w.contents(v)
	if err != nil {
		return tooMany(err)
	}
	for name, s := range have {
		if err := w.compare(v, name, s); err != nil {
			return err
		}
	}
	if v.project == nil {
		return nil
	}
	names, err := beneath.Names(v.project, w.Limits.Changes)
	if err != nil {
		return tooMany(err)
	}
	for _, name := range names {
		if _, ok := have[name]; ok {
			continue
		}
		if err := w.compare(v, name, side{}); err != nil {
			return err
		}
	}
	return nil
}

// contents is everything a directory of the workspace holds.
func (w *walker) contents(v *view) (map[string]side, error) {
	have := map[string]side{}
	hidden := func(string) bool { return false }
	if v.list != nil {
		for name, e := range v.list.entries {
			if !e.gone {
				have[name] = v.layerSide(name, e)
			}
		}
		hidden = func(name string) bool { _, ok := v.list.entries[name]; return ok }
	}
	if !v.based {
		return have, nil
	}
	names, err := beneath.Names(v.through, w.Limits.Changes)
	for _, name := range names {
		if hidden(name) {
			continue
		}
		if info, err := beneath.Entry(v.through, name); err == nil {
			have[name] = side{exists: true, Info: info, dir: v.through, from: join(v.base, name)}
		}
	}
	return have, err
}

// side is one file of the workspace or the project.
type side struct {
	beneath.Info
	exists  bool
	dir     *os.File // what it is in
	from    string   // the workspace's, but still in the project, there
	layered bool
	same    bool
}

func (v *view) layerSide(_ string, e entry) side {
	if e.gone {
		return side{}
	}
	return side{exists: true, Info: e.Info, dir: v.list.dir, layered: true, same: e.same}
}

// oldSide looks the project's file up.
func (v *view) oldSide(name string) (side, error) {
	if v.project == nil {
		return side{}, nil
	}
	info, err := beneath.Entry(v.project, name)
	if errors.Is(err, fs.ErrNotExist) {
		return side{}, nil
	}
	return side{exists: true, Info: info, dir: v.project}, err
}

// descend goes on in a directory of the workspace or, when there is none, of the
// project alone.
func (w *walker) descend(v *view, name string, old, new side, b *bulk) {
	p := place{path: join(v.path, name), known: old.exists && old.Mode.IsDir(), bulk: b}
	if new.exists && new.Mode.IsDir() {
		p.layered = new.layered
		p.base, p.based = new.from, new.from != ""
		if new.layered && v.based {
			p.base, p.based = join(v.base, name), true
		}
	}
	w.todo = append(w.todo, p)
}
