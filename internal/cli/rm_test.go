package cli

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coop-dev/coop/api"
)

func TestRmStopsFirst(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.daemon.Add(sandboxNamed(name))
	}
	w.want(t, 0, "", "", "rm", "a")
	w.want(t, 0, "", "", "kill", "-f", "b")
	w.want(t, 0, "", "", "rm", "--purge", "-s", "c")
	if !w.sent("POST /sandboxes/id-a/stop") || w.sent("POST /sandboxes/id-b/stop") || len(w.daemon.Sandboxes()) != 0 {
		t.Errorf("%q", w.daemon.Requests())
	}
}

func TestRmSeveral(t *testing.T) {
	w := newWorld(t)
	w.daemon.Add(sandboxNamed("a"))
	w.daemon.Add(sandboxNamed("b"))
	w.want(t, 3, "", "coop: no sandbox \"x\"\nhint: coop ls\ncoop: 1 of 3 sandboxes not removed\n", "rm", "a", "x", "b")
	if len(w.daemon.Sandboxes()) != 0 {
		t.Error("stopped at the first error")
	}
}

func TestRmAll(t *testing.T) {
	w := newWorld(t)
	for i := range 50 {
		w.daemon.Add(sandboxNamed(fmt.Sprintf("box%d", i)))
	}
	var now atomic.Int32
	var crowded atomic.Bool
	full := make(chan struct{})
	fill := sync.OnceFunc(func() { close(full) })
	w.daemon.Fail = func(method, path string) *api.Error {
		if method != "DELETE" {
			return nil
		}
		// Hold the first ones until as many are here as may be.
		switch n := now.Add(1); {
		case n == removeAtOnce:
			fill()
		case n > removeAtOnce:
			crowded.Store(true)
		}
		<-full
		now.Add(-1)
		switch path {
		case "/sandboxes/id-box7":
			return &api.Error{Code: api.CodeInternal, Message: "busy"}
		case "/sandboxes/id-box8":
			return &api.Error{Code: api.CodeGone, Message: "gone"}
		}
		return nil
	}
	w.want(t, 1, "", "coop: box7: busy\ncoop: 1 of 50 sandboxes not removed\n", "rm", "--all", "-f")
	if n := len(w.daemon.Sandboxes()); n != 2 || crowded.Load() {
		t.Errorf("%d left, more than %d at once: %v", n, removeAtOnce, crowded.Load())
	}
}

func TestRmAllOfNothing(t *testing.T) {
	w := newWorld(t)
	w.want(t, 0, "", "", "rm", "--all")
}

func TestStopStart(t *testing.T) {
	w := newWorld(t)
	w.daemon.Add(sandboxNamed("box"))
	w.want(t, 0, "", "", "stop", "--grace", "1s", "box")
	w.want(t, 0, "", "coop: started box\n", "start", "-v", "box")
	_, stdout, _ := w.coop("stop", "--json", "box")
	if !strings.Contains(stdout, `"status": "stopped"`) {
		t.Errorf("%q", stdout)
	}
}
