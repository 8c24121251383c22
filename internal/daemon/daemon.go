package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/config"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/linux/cgroup"
	"github.com/coop-dev/coop/internal/linux/probe"
	"github.com/coop-dev/coop/internal/server"
	"github.com/coop-dev/coop/internal/store"
)

// daemon holds the parts.
type daemon struct {
	options  Options
	settings config.Daemon
	log      *slog.Logger
	cancel   context.CancelCauseFunc
	store    store.Store
	cgroups  *cgroup.Parent
	engine   *engine.Engine
	images   *image.Store
	server   *server.Server
	idle     idle
}

var (
	errIdle     = errors.New("nothing to do")
	errShutdown = errors.New("asked to")
)

// lastCall is how long a retiring daemon still serves who had already dialled.
const lastCall = 100 * time.Millisecond

// retire ends the daemon. Its socket disappears first: who comes later starts
// another daemon, who came before is served.
func (d *daemon) retire(why error) {
	_ = os.Remove(filepath.Join(d.options.Home, "daemon.sock")) // gone is what it shall be
	time.AfterFunc(lastCall, func() { d.cancel(why) })
}

// shutdown stops the sandboxes, unless they are to be kept, and retires.
func (d *daemon) shutdown(keep bool) {
	if !keep {
		if err := d.engine.StopAll(context.Background(), engine.DefaultGrace, "daemon"); err != nil {
			d.log.Error("stop sandboxes", "err", err)
		}
	}
	d.retire(errShutdown)
}

func (d *daemon) close() {
	d.engine.Close()
	err := errors.Join(d.store.Close(), d.cgroups.Close())
	if err != nil {
		d.log.Error("close", "err", err)
	}
}

// idle ends a daemon that has had nothing to do for a while. It sets a timer
// when the last sandbox or request goes and takes it away when one comes:
// nothing wakes the daemon in between.
type idle struct {
	after  time.Duration // 0: never
	expire func()

	mu      sync.Mutex
	started bool
	active  int
	running int
	timer   *time.Timer
}

func (i *idle) start() { i.change(func() { i.started = true }) }

func (i *idle) requests(delta int) { i.change(func() { i.active += delta }) }

func (i *idle) sandboxes(n int) { i.change(func() { i.running = n }) }

func (i *idle) change(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
	if i.started && i.active == 0 && i.running == 0 && i.after > 0 {
		i.timer = time.AfterFunc(i.after, i.check)
	}
}

// check decides under the lock: a request may have come while the timer fired.
func (i *idle) check() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.active == 0 && i.running == 0 {
		i.expire()
	}
}

// adapter fits the engine's concrete Exec to the server's interface, and creates
// what daemon.toml permits.
type adapter struct {
	*engine.Engine
	settings config.Daemon
}

// Exec starts a command.
func (a adapter) Exec(ctx context.Context, ref string, c engine.Command) (server.Exec, error) {
	x, err := a.Engine.Exec(ctx, ref, c)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Checks looks at the host, with or without a daemon.
func Checks(ctx context.Context, home string) []api.Check {
	var out []api.Check
	for _, c := range probe.Run(ctx, probe.Options{Home: home}) {
		out = append(out, api.Check{Name: c.Name, OK: c.OK, Required: c.Required, Detail: c.Detail, Hint: c.Hint})
	}
	return out
}
