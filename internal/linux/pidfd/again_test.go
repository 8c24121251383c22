package pidfd

import (
	"context"
	"testing"
)

// TestWaitAgainAfterACancelledWait: one waiter's patience must not end the
// waiting of all later ones.
func TestWaitAgainAfterACancelledWait(t *testing.T) {
	cmd, in := sleeper(t)
	p := open(t, cmd.Process.Pid)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx); err == nil {
		t.Fatal("waited with a context that has ended")
	}
	in.Close()
	if err := p.Wait(t.Context()); err != nil {
		t.Errorf("the second wait: %v", err)
	}
}
