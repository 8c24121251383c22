package engine

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/coop-dev/coop/internal/linux/filestat"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/volume"
)

// holds knows which sandbox uses what outlives it, and which has reserved what.
// A sandbox holds from its create to its delete, stopped or not: its files and
// its changes are still there. It is filled from the store when a daemon starts.
type holds struct {
	mu       sync.Mutex
	users    map[string]map[sandbox.ID]string // thing → sandbox → its name
	reserved map[sandbox.ID][]area
}

// The things, by kind.
func volumeThing(name string) string    { return "volume " + name }
func workspaceThing(name string) string { return "workspace " + name }
func keptThing(key string) string       { return "kept " + key }
func cacheThing(path string) string     { return "cache " + path }

// thingsOf is what a sandbox uses.
func thingsOf(s sandbox.Spec) []string {
	var list []string
	if s.Workspace.Mode == sandbox.ModeVolume {
		list = append(list, workspaceThing(s.Workspace.Source))
	}
	for _, m := range s.Mounts {
		if m.IsVolume() {
			list = append(list, volumeThing(m.Source))
		}
	}
	if keeps(s) {
		list = append(list, keptThing(volume.Key(s.Project())))
	}
	for _, c := range s.Cache {
		list = append(list, cacheThing(c))
	}
	return list
}

// keeps reports whether anything is kept for a sandbox's project.
func keeps(s sandbox.Spec) bool { return len(s.Persist) > 0 && s.Project() != "" }

// take enters a new sandbox, unless another has reserved what it wants to.
func (h *holds) take(r *sandbox.Record, areas []area) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, theirs := range h.reserved {
		for _, t := range theirs {
			if i := slices.IndexFunc(areas, t.overlaps); i >= 0 && id != r.ID {
				return sandbox.Errorf(sandbox.Conflict, "%s is reserved by sandbox %s, which has reserved %s", areas[i].path, t.sandbox, t.path).
					WithHint("remove it with: coop rm %s, or reserve something else", t.sandbox).
					WithDetail("existing", string(id)).WithDetail("field", "workspace.reserve")
			}
		}
	}
	h.enter(r, areas)
	return nil
}

// note enters a sandbox found in the store.
func (h *holds) note(r *sandbox.Record, areas []area) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.enter(r, areas)
}

func (h *holds) enter(r *sandbox.Record, areas []area) {
	if h.users == nil {
		h.users, h.reserved = map[string]map[sandbox.ID]string{}, map[sandbox.ID][]area{}
	}
	for _, t := range thingsOf(r.Spec) {
		if h.users[t] == nil {
			h.users[t] = map[sandbox.ID]string{}
		}
		h.users[t][r.ID] = r.Spec.Name
	}
	if len(areas) > 0 {
		h.reserved[r.ID] = areas
	}
}

// release lets go of everything a sandbox held.
func (h *holds) release(r *sandbox.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range thingsOf(r.Spec) {
		delete(h.users[t], r.ID)
		if len(h.users[t]) == 0 {
			delete(h.users, t)
		}
	}
	delete(h.reserved, r.ID)
}

// of names the sandboxes that use a thing, sorted.
func (h *holds) of(thing string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.names(thing)
}

// ids are the sandboxes that use a thing.
func (h *holds) ids(thing string) []sandbox.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.users[thing]))
}

func (h *holds) names(thing string) []string {
	list := make([]string, 0, len(h.users[thing]))
	for _, name := range h.users[thing] {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// unused calls do while nobody uses a thing and nobody can begin to; do must be
// quick. It is a conflict that names them if somebody does.
func (h *holds) unused(thing string, do func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if names := h.names(thing); len(names) > 0 {
		return sandbox.Errorf(sandbox.Conflict, "%s is used by %s", thing, strings.Join(names, ", ")).
			WithHint("remove the sandbox first: coop rm %s", names[0]).WithDetail("sandboxes", names)
	}
	return do()
}

// area is a reserved directory or file as a chain of what lies above it: at each
// step the rest of the path. Two ways to the same place, by links or bind mounts,
// meet in some directory.
type area struct {
	path    string
	sandbox string
	steps   []step
}

type step struct {
	dev, ino uint64
	rest     string
}

func (a area) overlaps(b area) bool {
	for _, x := range a.steps {
		for _, y := range b.steps {
			if x.dev == y.dev && x.ino == y.ino && sandbox.Overlap(x.rest, y.rest) {
				return true
			}
		}
	}
	return false
}

// areaOf resolves a path as far as it exists; the rest will be made there.
func areaOf(path, name string) area {
	a := area{path: path, sandbox: name}
	rest, dir := ".", filepath.Clean(path)
	up := func() { rest, dir = filepath.Join(filepath.Base(dir), rest), filepath.Dir(dir) }
	for dir != "/" {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
			break
		}
		up()
	}
	for {
		if st, err := filestat.At(dir); err == nil {
			a.steps = append(a.steps, step{st.Dev, st.Ino, rest})
		}
		if dir == "/" {
			return a
		}
		up()
	}
}

// areas are what a sandbox reserves. Reserved paths are relative to the source;
// "src/**" is another way to write "src".
func (e *Engine) areas(r *sandbox.Record) []area {
	root := r.Spec.Workspace.Source
	if r.Spec.Workspace.Mode == sandbox.ModeVolume {
		root = e.workspaces.Path(root)
	}
	var list []area
	for _, p := range r.Spec.Reserve {
		list = append(list, areaOf(filepath.Join(root, p), r.Spec.Name))
	}
	return list
}
