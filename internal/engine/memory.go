package engine

import (
	"context"
	"os"
	"sync"

	"github.com/coop-dev/coop/internal/linux/mount"
	"github.com/coop-dev/coop/internal/rootfs"
	"github.com/coop-dev/coop/internal/sandbox"
)

// DefaultMemory is how much a sandbox may write whose writes stay in memory.
const DefaultMemory = 2 << 30

// memory holds the filesystems of sandboxes with upper = "tmpfs". They are
// attached nowhere: we hold one descriptor, PID 1 another for the next daemon.
// What we hold outlives a PID 1 that was killed, so that nothing is lost then.
type memory struct {
	mu   sync.Mutex
	held map[sandbox.ID]*os.File
}

func (m *memory) of(id sandbox.ID) *os.File {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held[id]
}

func (m *memory) put(id sandbox.ID, f *os.File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil {
		m.held = map[sandbox.ID]*os.File{}
	}
	m.held[id] = f
}

// drop lets go of a sandbox's memory, and with PID 1 gone of all that is in it.
func (m *memory) drop(id sandbox.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.held[id]; f != nil {
		f.Close()
	}
	delete(m.held, id)
}

// lone counts those whose sandbox does not run.
func (m *memory) lone(runs func(sandbox.ID) bool) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.held {
		if !runs(id) {
			n++
		}
	}
	return n
}

// busy counts what keeps a daemon from leaving: sandboxes that run, and changes
// in memory that would be gone with it because their PID 1 was killed. e.mu is
// held.
func (e *Engine) busy() int {
	return len(e.live) + e.memory.lone(func(id sandbox.ID) bool { return e.live[id] != nil })
}

// forgetMemory is drop for a sandbox that is gone.
func (e *Engine) forgetMemory(id sandbox.ID) {
	if e.memory.of(id) == nil {
		return
	}
	e.memory.drop(id)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.Changed != nil {
		e.Changed(e.busy())
	}
}

// dir is where a sandbox's upper/ lies: in its memory, or on the disk.
func (m *memory) dir(id sandbox.ID, disk string) string {
	if f := m.of(id); f != nil {
		return mount.FDPath(int(f.Fd()))
	}
	return disk
}

// remember gives a sandbox that is started its memory: what it had, when PID 1
// was lost and we still hold it, otherwise a new one.
func (e *Engine) remember(r *sandbox.Record, p *rootfs.Params) error {
	if r.Spec.Upper != "tmpfs" {
		return nil
	}
	if p.Memory = e.memory.of(r.ID); p.Memory != nil {
		return nil
	}
	size := r.Spec.Limits.DiskBytes
	if size == 0 {
		size = DefaultMemory
	}
	m, err := rootfs.Memory(size)
	if err != nil {
		return err
	}
	e.memory.put(r.ID, m)
	p.Memory, p.Empty = m, true
	return nil
}

// recall gets the memory of a sandbox from its PID 1, for a new daemon.
func (e *Engine) recall(ctx context.Context, r *sandbox.Record, l *live) {
	if r.Spec.Upper != "tmpfs" {
		return
	}
	m, err := l.init.Kept(ctx)
	if err != nil {
		e.Log.Error("get the sandbox's memory from PID 1: its changes cannot be reviewed", "sandbox", r.ID, "err", err)
		return
	}
	e.memory.put(r.ID, m)
}

// mayLose refuses to end a sandbox whose unreviewed changes would go with it.
func (e *Engine) mayLose(ctx context.Context, r *sandbox.Record) error {
	if r.Spec.Upper != "tmpfs" {
		return nil
	}
	pending, err := e.pending(ctx, r)
	if err != nil {
		return err
	}
	if pending {
		return sandbox.Errorf(sandbox.Conflict, "sandbox %s keeps its changes in memory: stopping it would lose them", r.Spec.Name).
			WithHint("approve or reject them first, or remove the sandbox: coop rm -f %s", r.Spec.Name)
	}
	return nil
}
