package engine

import (
	"context"
	"os"
	"path/filepath"
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

// TestUnreachableIsLeftAlone: a PID 1 that lives but does not answer is left
// alone, with everything in it, also where it has a control group.
func TestUnreachableIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	v := w.make(sandbox.Spec{Name: "box"})
	w.leave()
	sock := filepath.Join(w.dir(v.ID), "init.sock")
	if err := os.Rename(sock, sock+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sock, nil, 0o600); err != nil { // connecting is refused
		t.Fatal(err)
	}
	w.open()
	found, err := w.Recover(t.Context())
	if err != nil || found != (Found{Unreachable: 1}) {
		t.Errorf("%+v, %v", found, err)
	}
	w.logs.forget() // it complains, and should
	if got := w.status(v.ID); got != sandbox.Failed || !alive(v.PID) {
		t.Errorf("status %s, alive %v", got, alive(v.PID))
	}
	if err := os.Rename(sock+".away", sock); err != nil {
		t.Fatal(err)
	}
	w.again()
}
