package engine

import (
	"sync"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/sandbox"
)

// locks lets one change at a time happen to a sandbox.
type locks struct {
	mu   sync.Mutex
	held map[sandbox.ID]*held
}

type held struct {
	sync.Mutex
	users int
}

// lock waits for the sandbox and gives the unlock.
func (l *locks) lock(id sandbox.ID) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[sandbox.ID]*held{}
	}
	h := l.held[id]
	if h == nil {
		h = &held{}
		l.held[id] = h
	}
	h.users++
	l.mu.Unlock()
	h.Lock()
	return func() {
		h.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(l.held, id)
		}
	}
}

// bases hands out id ranges of real root's sandboxes.
type bases struct {
	mu    sync.Mutex
	taken map[uint32]bool
}

// take reserves a free range.
func (b *bases) take() (uint32, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]uint32, 0, len(b.taken))
	for base := range b.taken {
		list = append(list, base)
	}
	base, err := idmap.FreeBase(list)
	if err != nil {
		return 0, sandbox.Errorf(sandbox.Exhausted, "%w", err).WithHint("remove sandboxes with coop rm")
	}
	b.set(base)
	return base, nil
}

func (b *bases) set(base uint32) {
	if b.taken == nil {
		b.taken = map[uint32]bool{}
	}
	b.taken[base] = true
}

// hold notes a range found in the store.
func (b *bases) hold(base uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(base)
}

func (b *bases) release(base uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.taken, base)
}
