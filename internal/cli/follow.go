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
		if stream, err = v.reopen(ctx); err != nil {
			return outcome{err: err}
		}
	}
}

// lostStream: whatever was wrong with the connection, another may do.
func lostStream(err error) bool {
	var failure *api.Error
	if errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrUnreachable) {
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

// reopen attaches again. Modes are undone first: the fresh screen is painted
// from a known state.
func (v *view) reopen(ctx context.Context) (viewStream, error) {
	ctx, cancel := context.WithTimeout(ctx, giveUpAfter)
	defer cancel()
	worry := time.AfterFunc(quietTime, func() { v.tty.remark("connection lost, trying again") })
	defer worry.Stop()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		cols, rows := v.tty.size()
		stream, err := v.open(ctx, cols, rows)
		if err == nil {
			v.tty.undo(false)
			return stream, nil
		}
		if !lostStream(err) {
			return nil, err
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
	v.mu.Lock()
	v.stream = stream
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		v.stream = nil
		v.mu.Unlock()
		_ = stream.Close() // all it had to say was said
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !v.readOnly {
		v.guard(func() { v.outbox.sendTo(ctx, stream) })
	}
	v.guard(func() { v.sendSizes(ctx, stream) })
	for {
		frame, err := stream.Next()
		if len(frame.Payload) > 0 && frame.Kind != api.FrameControl {
			if werr := v.put(frame.Payload); werr != nil {
				return nil, werr
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", client.ErrLost, err)
		}
		if frame.Control != nil {
			if end := v.control(frame.Control); end != nil {
				return end, nil
			}
		}
	}
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

// control acts on what the daemon says. Some of it is the end.
func (v *view) control(c *api.Control) *outcome {
	switch {
	case c.Type == "exit" && c.Exit != nil:
		return &outcome{result: c.Exit, kept: c.Kept}
	case c.Type == "error" && c.Error != nil && !lostStream(c.Error):
		return &outcome{err: c.Error, kept: c.Kept}
	}
	return nil
}
