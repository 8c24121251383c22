//go:build defects

package engine

import (
	"context"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

// interrupted is a store whose daemon is told to end while it recovers.
type interrupted struct {
	store.Store
	cancel func()
}

func (i interrupted) List(ctx context.Context, f store.Filter) (store.Page, error) {
	defer i.cancel()
	return i.Store.List(ctx, f)
}

// TestInterruptedRecoveryEndsNobody: SIGTERM while the daemon starts must not
// kill the sandboxes that run.
func TestInterruptedRecoveryEndsNobody(t *testing.T) {
	w := newWorld(t)
	v := w.make(sandbox.Spec{Name: "box"})
	w.leave()
	w.open()
	ctx, cancel := context.WithCancel(t.Context())
	whole := w.Store
	w.Store = interrupted{whole, cancel}
	found, err := w.Recover(ctx)
	w.Store = whole
	t.Logf("%+v, %v", found, err)
	if !alive(v.PID) {
		t.Error("the sandbox was killed")
	}
	w.again()
}
