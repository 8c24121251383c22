package fault

import (
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/test/harness"
)

// PID 1 of a sandbox is killed from outside, as by the kernel for want of
// memory: the sandbox is stopped, keeps its files, and can be started, stopped
// and removed.
func TestPID1Killed(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	wantShell(t, c, sb.ID, "echo kept >/workspace/kept", "")
	stream, err := c.Attach(within(t, time.Minute), sb.ID, api.ExecRequest{Command: "echo ready; exec sleep 8181"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	readUntil(t, stream, "ready\n")
	init := hold(t, sb.PID)
	if err := init.Kill(); err != nil {
		t.Fatal(err)
	}
	harness.WaitGone(t, init)
	for { // the command's client is told
		if _, err := stream.Next(); err != nil {
			break
		}
	}
	now := until(t, func() (*api.Sandbox, bool) {
		now, err := c.Get(within(t, time.Minute), sb.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now, now.Status != "running"
	})
	if now.Status != "stopped" || now.PID != 0 {
		t.Errorf("%+v", now)
	}
	if r := harness.Exec(t, sb.ID, "true"); r.Code != 125 {
		t.Errorf("exec: %+v", r)
	}
	if _, err := c.Start(within(t, time.Minute), sb.ID); err != nil {
		t.Fatal(err)
	}
	wantShell(t, c, sb.ID, "cat /workspace/kept", "kept")
	wantUsable(t, c, sb.ID)
	wantLife(t, c, sb.ID)
	harness.Shared().NoneLeft(t)
}

// PID 1 is killed while no daemon is there to see it.
func TestPID1AndDaemonKilled(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	wantShell(t, c, sb.ID, "echo kept >/workspace/kept", "")
	init := hold(t, sb.PID)
	harness.KillDaemon(t)
	if err := init.Kill(); err != nil {
		t.Fatal(err)
	}
	harness.WaitGone(t, init)
	if now, err := c.Get(within(t, time.Minute), sb.ID); err != nil || now.Status != "stopped" {
		t.Fatalf("%+v, %v", now, err)
	}
	if _, err := c.Start(within(t, time.Minute), sb.ID); err != nil {
		t.Fatal(err)
	}
	wantShell(t, c, sb.ID, "cat /workspace/kept", "kept")
	wantLife(t, c, sb.ID)
	harness.Shared().NoneLeft(t)
}

// until asks again until the answer is the one waited for. Each question is a
// round trip to the daemon; the test's own time limit ends it.
func until[T any](t testing.TB, ask func() (T, bool)) T {
	t.Helper()
	ctx := within(t, time.Minute)
	for {
		v, ok := ask()
		if ok {
			return v
		}
		if ctx.Err() != nil {
			t.Fatalf("still %+v", v)
		}
	}
}
