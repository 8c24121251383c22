package server

import (
	"context"
	"errors"
	"time"

	"github.com/coop-dev/coop/internal/engine"
)

const (
	killWait   = 30 * time.Second // for a killed tree to be gone
	finishWait = 2 * time.Minute  // for a sandbox to be removed
)

// untilClosing is ctx, ended also by the daemon's shutdown.
func (s *Server) untilClosing(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	disarm := context.AfterFunc(s.closing, func() { cancel(errClosing) })
	return ctx, func(cause error) { disarm(); cancel(cause) }
}

// await returns when the command has ended. When ctx ends first its client is
// gone and the tree is killed; when the daemon shuts down the command goes on
// and the error is errClosing.
func await(ctx context.Context, ex Exec) (engine.Outcome, error) {
	out, err := ex.Wait(ctx)
	if err == nil || ctx.Err() == nil {
		return out, err
	}
	if errors.Is(context.Cause(ctx), errClosing) {
		return out, errClosing
	}
	return kill(ctx, ex)
}

func kill(ctx context.Context, ex Exec) (engine.Outcome, error) {
	ex.Kill()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killWait)
	defer cancel()
	return ex.Wait(ctx)
}

// finish is for a client that may be gone: what OnExit asks for happens anyway.
func finish(ctx context.Context, ex Exec) (kept bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWait)
	defer cancel()
	return ex.Finish(ctx)
}

// abort ends a command that was started but cannot be served.
func abort(ctx context.Context, ex Exec) {
	_, _ = kill(ctx, ex)   // the error that led here is the one to tell
	_, _ = finish(ctx, ex) // the same
}
