package script

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/coop-dev/coop/internal/linux/pidfd"
)

// ended waits for the daemon of COOP_HOME to leave by itself.
func ended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: ended")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(ts.Getenv("COOP_HOME") + "/daemon.pid")))
	ts.Check(err)
	p, err := pidfd.Open(pid)
	if errors.Is(err, syscall.ESRCH) {
		return
	}
	ts.Check(err)
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ts.Check(p.Wait(ctx))
}
