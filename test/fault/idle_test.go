package fault

import (
	"testing"
	"time"

	"github.com/coop-dev/coop/test/harness"
)

// A daemon without sandboxes and requests ends by itself after 30 s. Nothing
// makes that shorter, so this test waits for it where time is given.
func TestIdleExit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel() // the waiting costs nothing beside the other tests
	h := harness.Private(t)
	h.StartDaemon(t)
	p := hold(t, h.DaemonPID(t))
	start := time.Now()
	harness.WaitGone(t, p)
	if took := time.Since(start); took < 25*time.Second {
		t.Errorf("ended after %s", took)
	}
	if r := h.Coop(t, "status"); r.Code != 4 {
		t.Errorf("%+v", r)
	}
	h.StartDaemon(t)
}
