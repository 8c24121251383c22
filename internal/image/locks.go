package image

import (
	"context"
	"sync"
)

// locks lets one pull at a time work on a layer; the others wait and find it
// done.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when it is free again
}

func (l *locks) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		l.mu.Lock()
		if l.held == nil {
			l.held = map[string]chan struct{}{}
		}
		busy := l.held[key]
		if busy == nil {
			free := make(chan struct{})
			l.held[key] = free
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.held, key)
				close(free)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// taken reports whether somebody holds a lock.
func (l *locks) taken(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[key] != nil
}
