package engine

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/coop-dev/coop/internal/review"
	"github.com/coop-dev/coop/internal/sandbox"
)

// exportTime bounds git inside the sandbox, and maxExport what it may write.
const (
	exportTime = 2 * time.Minute
	maxExport  = 1 << 30
)

// exportCommits has git bundle the agent's commits inside the sandbox, where its
// hooks and settings are the agent's own affair. nil: there are none.
func (e *Engine) exportCommits(ctx context.Context, r *sandbox.Record, base string) (io.ReadCloser, error) {
	if e.running(r.ID) == nil {
		return nil, sandbox.Errorf(sandbox.Conflict, "commits are exported by %s itself, which does not run", r.Spec.Name).
			WithHint("start it with: coop start %s", r.Spec.Name)
	}
	head, err := e.insideGit(ctx, r, nil, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(head) == base {
		return nil, nil
	}
	out, err := os.CreateTemp(review.DirOf(e.dir(r.ID)), "bundle-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(out.Name()) // it lives as long as its descriptor
	if _, err := e.insideGit(ctx, r, out, "bundle", "create", "-", "HEAD", "--not", base); err != nil {
		out.Close()
		return nil, err
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// insideGit runs git in the workspace, as the agent. Its output goes to a file,
// or is returned up to a few bytes.
func (e *Engine) insideGit(ctx context.Context, r *sandbox.Record, to io.Writer, args ...string) (string, error) {
	x, err := e.Exec(ctx, string(r.ID), Command{
		Command: "git", Args: append([]string{"-c", "safe.directory=*"}, args...), Direct: true, Timeout: exportTime, OnExit: Keep,
	})
	if err != nil {
		return "", err
	}
	said, complained := &tail{max: 4 << 10}, &tail{max: 4 << 10}
	if to == nil {
		to = said
	}
	done := make(chan error, 2)
	go func() { done <- copyAtMost(to, x.Stdout(), maxExport) }()
	go func() { done <- copyAtMost(complained, x.Stderr(), maxExport) }()
	out, err := x.Wait(ctx)
	if err != nil {
		x.Kill()
		_, _ = x.Wait(context.WithoutCancel(ctx)) // SIGKILL always comes through
	}
	for _, f := range []*os.File{x.Stdout(), x.Stderr()} {
		_ = f.SetReadDeadline(time.Now().Add(time.Second)) // somebody else may hold the pipe
	}
	err = errors.Join(err, <-done, <-done)
	if _, ferr := x.Finish(ctx); ferr != nil {
		e.Log.Warn("finish git", "sandbox", r.ID, "err", ferr)
	}
	switch {
	case err != nil:
		return "", err
	case out.Code != 0:
		return "", sandbox.Errorf(sandbox.Invalid, "git %s in the sandbox: status %d", args[0], out.Code).
			WithHint("it said: %s", strings.ToValidUTF8(complained.String(), "\uFFFD"))
	}
	return said.String(), nil
}

// copyAtMost refuses more than n bytes.
func copyAtMost(to io.Writer, from io.Reader, n int64) error {
	got, err := io.Copy(to, io.LimitReader(from, n+1))
	if got > n {
		return sandbox.Errorf(sandbox.TooLarge, "more than %d bytes came out of the sandbox", n)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}
