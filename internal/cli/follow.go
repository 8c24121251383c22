package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

// How a view goes on when its stream ends without a word: the daemon was
// killed, handed over, or the network is gone. The next daemon finds every
// terminal again, so attaching once more is all there is to do.
const (
	giveUpAfter = 30 * time.Second      // without a connection
	firstPause  = 50 * time.Millisecond // doubled up to
	longPause   = 2 * time.Second       //
	quietTime   = time.Second           // before the person is told
	shortLife   = 2 * time.Second       // a stream that ends sooner is not counted as one
	maxShort    = 10                    // in a row
)

var errDropped = errors.New("the daemon drops the connection again and again")

// detachedError is a stream that the daemon ended for a reason. It may have
// been that the daemon itself ends: then the next one has the terminal.
type detachedError struct{ reason string }

func (e *detachedError) Error() string { return "detached: " + e.reason }

// follow shows streams until the terminal's program has ended.
func (v *view) follow(ctx context.Context, stream viewStream) outcome {
	for short := 0; ; {
		began := time.Now()
		end, err := v.show(ctx, stream)
		if end != nil {
			return *end
		}
		if !lostStream(err) || ctx.Err() != nil {
			return outcome{err: err}
		}
		if short++; time.Since(began) > shortLife || v.takeRedrawn() {
			short = 0
		}
		if short > maxShort {
			return outcome{err: fmt.Errorf("%w: %w", errDropped, err)}
		}
		next, failed := v.reopen(ctx, patienceFor(err))
		if failed != nil {
			return outcome{err: afterLoss(err, failed)}
		}
		stream = next
	}
}

// afterLoss is what to say when there is nothing to attach to any more. A
// daemon's own reason says it best; the status stays that of what is missing.
func afterLoss(lost, failed error) error {
	var detached *detachedError
	if errors.As(lost, &detached) && detached.reason != "" {
		return &statusError{status: exitStatus(failed), err: detached}
	}
	return failed
}

// lostStream: whatever was wrong with the connection, another may do.
func lostStream(err error) bool {
	var failure *api.Error
	var detached *detachedError
	if errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrUnreachable) || errors.As(err, &detached) {
		return true
	}
	return errors.As(err, &failure) && failure.Code == api.CodeUnavailable
}

func (v *view) takeRedrawn() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	was := v.redrawn
	v.redrawn = false
	return was
}

// patienceFor is how long to look for the next daemon before starting one. Who
// hands over, or upgrades, starts it themselves; a view of the old program must
// not be faster and bring the old daemon back.
func patienceFor(lost error) time.Duration {
	var detached *detachedError
	if errors.As(lost, &detached) {
		return 2 * time.Second
	}
	return 200 * time.Millisecond
}

// reopen attaches again. Modes are undone first: the fresh screen is painted
// from a known state.
func (v *view) reopen(ctx context.Context, patience time.Duration) (viewStream, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, giveUpAfter)
	defer cancel()
	worry := time.AfterFunc(quietTime, func() { v.tty.remark("connection lost, trying again") })
	defer worry.Stop()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		cols, rows := v.tty.size()
		stream, err := v.open(ctx, cols, rows, time.Since(began) >= patience)
		if err == nil {
			v.tty.undo()
			return stream, nil
		}
		if !lostStream(err) {
			return nil, err
		}
		if left := patience - time.Since(began); left > 0 {
			pause = min(pause, left)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("attach again: %w", err)
		case <-time.After(pause):
		}
	}
}

// show is one stream to its end: an outcome, or why there is none.
func (v *view) show(ctx context.Context, stream viewStream) (*outcome, error) {
	v.use(stream)
	defer v.use(nil)
	defer stream.Close() // all it had to say was said
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !v.readOnly {
		v.guard(func() { v.outbox.sendTo(ctx, stream) })
	}
	v.guard(func() { v.sendSizes(ctx, stream) })
	told := &told{}
	for {
		frame, err := stream.Next()
		if len(frame.Payload) > 0 && frame.Control == nil {
			if werr := v.put(frame.Payload); werr != nil {
				return nil, werr
			}
		}
		switch {
		case err != nil && told.exit != nil:
			return told.exit, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", client.ErrLost, err)
		case frame.Control == nil:
			continue
		}
		end, err := v.control(frame.Control, told, stream)
		if end != nil || err != nil {
			return end, err
		}
	}
}

func (v *view) use(stream viewStream) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stream = stream
}

// put shows output. While we are about to be stopped it is shown to nobody: a
// fresh screen follows.
func (v *view) put(p []byte) error {
	_, err := v.tty.Write(p)
	if err != nil && !errors.Is(err, errNotShown) {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// told is what a daemon has said about the program of a stream.
type told struct {
	exit *outcome    // it has ended, and nothing has come after that
	last *time.Timer // closes the stream when nothing does
}

// restartTime is how long after its end an agent may be said to start again.
const restartTime = time.Second

// control acts on what the daemon says. Some of it is the end: for an agent
// only when no other is started in its place.
func (v *view) control(c *api.Control, told *told, stream viewStream) (*outcome, error) {
	if told.last != nil {
		told.last.Stop()
		told.last = nil
	}
	switch c.Type {
	case "exit":
		return v.exited(c, told, stream), nil
	case "restarting":
		v.tty.remark(restartLine(told.exit))
		told.exit = nil
	case "failed":
		return &outcome{err: failedError(c.Reason)}, nil
	case "degraded":
		if c.Reason != "" {
			v.tty.remark("output is not stored at present: " + c.Reason)
		}
	case "refused":
		_, _ = v.tty.Write([]byte("\a")) // the program does not take what is typed
	case "detached":
		return nil, &detachedError{c.Reason}
	case "error":
		if c.Error != nil {
			return nil, c.Error
		}
	}
	return nil, nil
}

func (v *view) exited(c *api.Control, told *told, stream viewStream) *outcome {
	result := c.Exit
	if result == nil {
		result = &api.ExecResult{}
	}
	end := &outcome{result: result, kept: c.Kept}
	if !v.agent {
		return end
	}
	told.exit = end
	told.last = time.AfterFunc(restartTime, func() { _ = stream.Close() }) // wakes who reads it
	return nil
}

func restartLine(exit *outcome) string {
	switch {
	case exit == nil:
		return "the agent is started again"
	case exit.result.Signal != "":
		return "the agent was ended by " + exit.result.Signal + "; it is started again"
	}
	return fmt.Sprintf("the agent has ended with status %d; it is started again", exit.result.ExitCode)
}

// failedError is the crash-loop guard's, or a program that cannot be started.
func failedError(reason string) error {
	return &statusError{status: api.ExitError, err: &api.Error{
		Code: api.CodeConflict, Message: "the agent is not started again: " + reason,
		Hint: "coop logs shows what it printed",
	}}
}
