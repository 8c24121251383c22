package fault

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/test/harness"
)

// descriptors counts those of a process.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// Many commands, some at once, so that they find a spare process or none: each
// answers, and neither the daemon nor PID 1 keeps anything of them.
func TestManyExecs(t *testing.T) {
	n := 10000
	if testing.Short() {
		n = 1000
	}
	c := harness.Client(t)
	sb := create(t, c, "")
	daemon := harness.Shared().DaemonPID(t)
	for range 5 { // until there are spares
		wantShell(t, c, sb.ID, "echo begin", "begin")
	}
	before := descriptors(t, daemon)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range n / 4 {
				want := fmt.Sprintf("%d %d", worker, i)
				r, err := c.Exec(within(t, time.Minute), sb.ID, api.ExecRequest{Command: "/bin/echo", Args: &[]string{want}})
				if err != nil || r.ExitCode != 0 || r.Stdout != want+"\n" {
					t.Errorf("%s: %+v, %v", want, r, err)
					return
				}
			}
		})
	}
	wg.Wait()
	untilNothingRuns(t, c, sb.ID)
	const late = 20 // idle connections of the client, spares that come and go
	until(t, func() (int, bool) {
		now := descriptors(t, daemon)
		return now, now <= before+late
	})
	wantShell(t, c, sb.ID, "ls /proc/[0-9]*/stat | wc -l | { read n; test $n -lt 10 && echo few; }", "few")
}

// The daemon is killed at random moments of commands that follow each other
// closely. Whatever was answered has happened once, whatever was not at most
// once, and nothing of it is left.
func TestKilledBetweenExecs(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	var answered []string
	for round := range 10 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			answered = append(answered, numbered(ctx, c, sb.ID, round)...)
		}()
		select { // a different moment each time
		case <-time.After(time.Duration(round) * 3 * time.Millisecond):
		case <-done:
		}
		harness.KillDaemon(t)
		cancel()
		<-done
		harness.Shared().StartDaemon(t)
	}
	wantUsable(t, c, sb.ID)
	untilNothingRuns(t, c, sb.ID)
	r, err := c.Exec(within(t, time.Minute), sb.ID, api.ExecRequest{Command: "cat /workspace/log"})
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(r.Stdout) {
		times[strings.TrimSpace(line)]++
	}
	for _, line := range answered {
		if times[line] == 0 {
			t.Errorf("%s was answered and did not happen", line)
		}
	}
	for line, n := range times {
		if n != 1 {
			t.Errorf("%s happened %d times", line, n)
		}
	}
}

// numbered runs commands that leave a line each, until one fails, and gives the
// lines of those that were answered.
func numbered(ctx context.Context, c *client.Client, id string, round int) (answered []string) {
	for i := 0; ; i++ {
		line := fmt.Sprintf("%d.%d", round, i)
		r, err := c.Exec(ctx, id, api.ExecRequest{Command: "echo " + line + " >>/workspace/log"})
		if err != nil || r.ExitCode != 0 {
			return answered
		}
		answered = append(answered, line)
	}
}
