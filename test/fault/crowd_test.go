package fault

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/linux/pidfd"
	"github.com/coop-dev/coop/test/harness"
)

const crowd = 200

// Two hundred sandboxes at once, all of which answer, and nothing left of them
// after rm --all, seen from outside.
func TestCrowd(t *testing.T) {
	h := harness.Shared()
	c := h.Client(t)
	project := harness.Project(t)
	start := time.Now()
	boxes := make([]*api.Sandbox, crowd)
	each(crowd, func(i int) {
		sb, err := c.Create(context.Background(), api.CreateRequest{ScopePath: project})
		if err != nil {
			t.Errorf("create %d: %v", i, err)
			return
		}
		boxes[i] = sb
	})
	created := time.Now()
	if t.Failed() {
		h.Coop(t, "rm", "-f", "--all")
		t.FailNow()
	}
	each(crowd, func(i int) {
		res, err := c.Exec(context.Background(), boxes[i].ID, api.ExecRequest{Command: "echo $COOP_SESSION; cat README.md"})
		if err != nil || res.Stdout != boxes[i].Name+"\n# project\n" {
			t.Errorf("%s: %+v, %v", boxes[i].Name, res, err)
		}
	})
	answered := time.Now()
	inits := make([]*pidfd.Process, crowd)
	for i, sb := range boxes {
		inits[i] = hold(t, sb.PID)
	}
	if health, err := c.Health(within(t, time.Minute)); err != nil || health.Running != crowd {
		t.Errorf("%+v, %v", health, err)
	}
	removing := time.Now()
	if r := h.Coop(t, "rm", "--all"); r.Code != 0 {
		t.Errorf("rm --all: %+v", r)
	}
	removed := time.Now()
	for i, p := range inits {
		if p.Alive() {
			t.Errorf("PID 1 of %s is there after rm --all returned", boxes[i].Name)
		}
	}
	h.NoneLeft(t)
	if r := h.Coop(t, "ls", "-aq"); r.Stdout != "" {
		t.Errorf("ls after rm --all: %q", r.Stdout)
	}
	t.Logf("%d sandboxes: created in %s, one exec each in %s, removed in %s", crowd,
		created.Sub(start).Round(time.Millisecond), answered.Sub(created).Round(time.Millisecond), removed.Sub(removing).Round(time.Millisecond))
}

// The daemon dies over a crowd and the next one takes all of it over.
func TestCrowdSurvivesTheDaemon(t *testing.T) {
	const n = 40
	h := harness.Shared()
	c := h.Client(t)
	boxes := make([]*api.Sandbox, n)
	each(n, func(i int) { boxes[i] = create(t, c, "") })
	h.KillDaemon(t)
	each(n, func(i int) { wantShell(t, c, boxes[i].ID, "echo ok", "ok") })
	h.KillDaemon(t)
	if r := h.Coop(t, "rm", "-f", "--all"); r.Code != 0 {
		t.Errorf("rm --all: %+v", r)
	}
	h.NoneLeft(t)
}

// each runs f for 0 to n-1, sixteen at a time.
func each(n int, f func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}
