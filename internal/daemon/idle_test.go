package daemon

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const idleExit = 30 * time.Second

// TestIdle: the daemon ends when it has had nothing to do for a while, and never
// while it has.
func TestIdle(t *testing.T) {
	const almost = idleExit - time.Millisecond
	for name, c := range map[string]struct {
		happens func(*idle)
		ends    bool
	}{
		"nothing at all":        {func(i *idle) { i.start() }, true},
		"not started":           {func(i *idle) { i.requests(1); i.requests(-1); i.sandboxes(0) }, false},
		"a request":             {func(i *idle) { i.start(); i.requests(1) }, false},
		"a sandbox":             {func(i *idle) { i.start(); i.sandboxes(1) }, false},
		"a request that ended":  {func(i *idle) { i.start(); i.requests(1); i.requests(-1) }, true},
		"the last of two":       {func(i *idle) { i.start(); i.requests(2); i.requests(-1) }, false},
		"a sandbox left":        {func(i *idle) { i.start(); i.requests(1); i.sandboxes(1); i.requests(-1) }, false},
		"all sandboxes gone":    {func(i *idle) { i.start(); i.sandboxes(3); i.sandboxes(0) }, true},
		"recovered, then start": {func(i *idle) { i.sandboxes(2); i.start() }, false},
		"just in time":          {func(i *idle) { i.start(); time.Sleep(almost); i.requests(1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // time is not real in here
				var ended atomic.Int32
				i := &idle{after: idleExit, expire: func() { ended.Add(1) }}
				c.happens(i)
				time.Sleep(almost)
				synctest.Wait()
				if ended.Load() != 0 {
					t.Error("it ended too early")
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if (ended.Load() == 1) != c.ends {
					t.Errorf("ended %d times", ended.Load())
				}
			})
		})
	}
}

// TestIdleCountsAnew: every request starts the time again.
func TestIdleCountsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var ended atomic.Int64
		i := &idle{after: idleExit, expire: func() { ended.Store(int64(time.Since(begun))) }}
		i.start()
		for range 3 {
			time.Sleep(idleExit / 2)
			i.requests(1)
			i.requests(-1)
		}
		time.Sleep(2 * idleExit)
		synctest.Wait()
		if want := 3*(idleExit/2) + idleExit; time.Duration(ended.Load()) != want {
			t.Errorf("ended after %v, want %v", time.Duration(ended.Load()), want)
		}
	})
}

// TestIdleNever: idle_exit = "0".
func TestIdleNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &idle{expire: func() { t.Error("it ended") }}
		i.start()
		i.requests(1)
		i.requests(-1)
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
	})
}
