package engine

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/launch"
	"github.com/coop-dev/coop/internal/linux/cgroup"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/rootfs"
	"github.com/coop-dev/coop/internal/rootfs/hostimage"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

// Config is what an engine is made of.
type Config struct {
	Home    string // COOP_HOME
	Store   store.Store
	Log     *slog.Logger
	Program *os.File // coop-init
	Cgroups *cgroup.Parent
	UIDs    idmap.Map // of this process
	GIDs    idmap.Map
	Groups  bool // setgroups is allowed here
	Images  *image.Store
	// Changed is called whenever the number of running sandboxes has changed. It
	// must not call the engine.
	Changed func(running int)
}

// Engine carries out the use cases.
type Engine struct {
	Config
	root    bool
	build   *rootfs.Builder
	host    *hostimage.Cache
	bases   bases
	locks   locks
	filters filters
	names   names
	reviews reviews
	holds   holds
	shelves
	memory memory

	mu   sync.Mutex
	live map[sandbox.ID]*live

	driver func() string // of workspaces here, found out when first asked for
}

// live is a running sandbox.
type live struct {
	id    sandbox.ID
	spec  sandbox.Spec
	made  time.Time
	init  *launch.Init
	group *cgroup.Group // nil where there are no control groups

	terminals *terminals
}

// New has no side effects; Recover finds what is there.
func New(c Config) *Engine {
	root := c.UIDs.Initial()
	e := &Engine{
		Config: c, root: root,
		build: rootfs.NewBuilder(root),
		host:  hostimage.New(filepath.Join(c.Home, "cache", "host"), root),
		live:  map[sandbox.ID]*live{}, shelves: newShelves(c.Home, root),
	}
	e.driver = sync.OnceValue(e.usualDriver)
	return e
}

// dir is a sandbox's directory.
func (e *Engine) dir(id sandbox.ID) string {
	return filepath.Join(e.Home, "sandboxes", string(id))
}

// doomed is what the directory is called while it is being removed: a record
// without its directory is one whose delete was interrupted.
func (e *Engine) doomed(id sandbox.ID) string {
	return filepath.Join(e.Home, "sandboxes", ".deleted-"+string(id))
}

// running gives the hold on a running sandbox.
func (e *Engine) running(id sandbox.ID) *live {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live[id]
}

// find gives the hold on a running sandbox by id or name. What runs is known
// without asking the store; for anything else the store says what is the matter.
func (e *Engine) find(ctx context.Context, ref string) (*live, error) {
	id := e.names.id(ref)
	if id == "" {
		id = sandbox.ID(ref)
	}
	if l := e.running(id); l != nil {
		return l, nil
	}
	r, err := e.Store.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	if l := e.running(r.ID); l != nil {
		return l, nil
	}
	return nil, sandbox.Errorf(sandbox.Conflict, "sandbox %s is %s", r.Spec.Name, r.Status).
		WithHint("start it with: coop start %s", r.Spec.Name)
}

func (e *Engine) setLive(id sandbox.ID, l *live) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l == nil {
		delete(e.live, id)
	} else {
		e.live[id] = l
	}
	if e.Changed != nil {
		e.Changed(e.busy()) // under the lock, so that counts arrive in order
	}
}

// view adds what only we know to a record.
func (e *Engine) view(r *sandbox.Record) View {
	v := View{Record: *r, MergedDir: filepath.Join(e.dir(r.ID), "merged")}
	if l := e.running(r.ID); l != nil {
		v.PID = l.init.PID()
	}
	return v
}

// Get finds one sandbox.
func (e *Engine) Get(ctx context.Context, ref string) (View, error) {
	r, err := e.Store.Resolve(ctx, ref)
	if err != nil {
		return View{}, err
	}
	return e.view(r), nil
}

// List gives a page of them, newest first.
func (e *Engine) List(ctx context.Context, f Filter) (Page, error) {
	p, err := e.Store.List(ctx, store.Filter{
		Status: f.Status, Owner: f.Owner, Labels: f.Labels, Path: f.Path, Limit: f.Limit, Cursor: f.Cursor,
	})
	if err != nil {
		return Page{}, err
	}
	out := Page{Total: p.Total, Next: p.Next, Views: make([]View, len(p.Records))}
	for i, r := range p.Records {
		out.Views[i] = e.view(r)
	}
	return out, nil
}

// Audit reads what happened, newest first; an empty ref means to all of them.
func (e *Engine) Audit(ctx context.Context, ref string, limit int) ([]sandbox.AuditEntry, error) {
	if ref == "" {
		return e.Store.Audit(ctx, "", limit)
	}
	id := sandbox.ID(ref) // the lines of a deleted sandbox are found by its id
	if r, err := e.Store.Resolve(ctx, ref); err == nil {
		id = r.ID
	} else if _, err := e.Store.Get(ctx, id); err != nil {
		return nil, err
	}
	return e.Store.Audit(ctx, id, limit)
}

// Health counts.
func (e *Engine) Health(ctx context.Context) (Health, error) {
	p, err := e.Store.List(ctx, store.Filter{Limit: 1})
	if err != nil {
		return Health{}, err
	}
	driver := e.driver()
	e.mu.Lock()
	defer e.mu.Unlock()
	return Health{Sandboxes: p.Total, Running: len(e.live), Driver: driver}, nil
}

// Running counts the sandboxes that run.
func (e *Engine) Running() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.live)
}

// Close lets go of every sandbox without ending it.
func (e *Engine) Close() {
	e.mu.Lock()
	all := e.live
	e.live = map[sandbox.ID]*live{}
	e.mu.Unlock()
	for _, l := range all {
		l.terminals.closeAll("the daemon is going away")
		l.init.Close()
		if l.group != nil {
			_ = l.group.Close() // descriptors only
		}
	}
}
