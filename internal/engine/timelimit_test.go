package engine

import (
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

func TestTimeLimitOfTheSandbox(t *testing.T) {
	for _, c := range []struct{ limit, asked, want time.Duration }{
		{0, 0, 0},
		{0, time.Hour, time.Hour},
		{time.Minute, 0, time.Minute},
		{time.Minute, time.Second, time.Second},
		{time.Minute, time.Hour, time.Minute},
	} {
		l := &live{spec: sandbox.Spec{Limits: sandbox.Limits{ExecTimeout: c.limit}}}
		if got := l.timeLimit(c.asked); got != c.want {
			t.Errorf("limit %v, asked %v: %v", c.limit, c.asked, got)
		}
	}
}
