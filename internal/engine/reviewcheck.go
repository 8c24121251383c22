package engine

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// checkTime bounds the policy's command.
const checkTime = 10 * time.Minute

// check runs the command that must succeed before anything is applied.
func (e *Engine) check(ctx context.Context, r *sandbox.Record) error {
	if r.Spec.Review.Check == "" {
		return nil
	}
	if e.running(r.ID) == nil {
		return sandbox.Errorf(sandbox.Conflict, "the check of %s needs it to run", r.Spec.Name).
			WithHint("start it with: coop start %s", r.Spec.Name)
	}
	x, err := e.Exec(ctx, string(r.ID), Command{Command: r.Spec.Review.Check, Timeout: checkTime, OnExit: Keep})
	if err != nil {
		return err
	}
	tail := &tail{max: 4 << 10}
	var reading sync.WaitGroup
	for _, f := range []*os.File{x.Stdout(), x.Stderr()} {
		reading.Go(func() { _, _ = io.Copy(tail, f) }) // until it ends
	}
	out, err := x.Wait(ctx)
	if err != nil {
		x.Kill()
		if _, werr := x.Wait(context.WithoutCancel(ctx)); werr != nil {
			e.Log.Warn("wait for check", "sandbox", r.ID, "err", werr)
		}
	}
	deadline := time.Now().Add(time.Second) // what it left in the background may hold the pipes for ever
	for _, f := range []*os.File{x.Stdout(), x.Stderr()} {
		_ = f.SetReadDeadline(deadline) // pipes can
	}
	reading.Wait()
	if _, ferr := x.Finish(ctx); ferr != nil {
		e.Log.Warn("finish check", "sandbox", r.ID, "err", ferr)
	}
	switch {
	case err != nil:
		return err
	case out.TimedOut:
		return sandbox.Errorf(sandbox.Timeout, "the check took longer than %s: nothing was applied", checkTime)
	case out.Code != 0:
		return sandbox.Errorf(sandbox.Denied, "the check failed with status %d: nothing was applied", out.Code).
			WithHint("it said: %s", strings.ToValidUTF8(tail.String(), "\uFFFD")).WithDetail("exitCode", out.Code)
	}
	return nil
}

// tail keeps the last bytes of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
	max int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - t.max; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
