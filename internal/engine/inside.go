package engine

import (
	"context"
	"errors"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Processes lists what runs inside.
func (e *Engine) Processes(ctx context.Context, ref string) ([]Process, error) {
	l, err := e.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	list, err := l.init.Processes(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Process, len(list))
	for i, p := range list {
		out[i] = Process{
			PID: p.PID, PPID: p.PPID, UID: p.UID, State: p.State, Command: p.Command, RSSBytes: p.RSS, Exec: p.Exec,
			CPU: time.Duration(p.CPUMs) * time.Millisecond, Age: time.Duration(p.AgeMs) * time.Millisecond,
		}
	}
	return out, nil
}

// Signal reaches one process by the number it has inside.
func (e *Engine) Signal(ctx context.Context, ref string, pid int, signal string) error {
	n, err := SignalNumber(signal)
	if err != nil {
		return err
	}
	if pid <= 1 {
		return sandbox.Errorf(sandbox.Denied, "pid %d is not yours to signal", pid).
			WithHint("PID 1 ends with the sandbox: coop stop")
	}
	l, err := e.find(ctx, ref)
	if err != nil {
		return err
	}
	err = l.init.Signal(ctx, pid, n)
	if errors.Is(err, syscall.ESRCH) {
		return sandbox.Errorf(sandbox.NotFound, "no process %d in the sandbox", pid)
	}
	return err
}

// OpenFile opens a path as the sandbox sees it; relative ones are in the workspace.
func (e *Engine) OpenFile(ctx context.Context, ref, p string, flags int, mode uint32) (*os.File, error) {
	l, err := e.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if p == "" || strings.ContainsRune(p, 0) {
		return nil, sandbox.Errorf(sandbox.Invalid, "illegal path %q", p)
	}
	if !path.IsAbs(p) {
		p = path.Join(l.spec.Workspace.Path, p)
	}
	f, err := l.init.Open(ctx, p, flags, mode)
	return f, explainOpen(p, err)
}

func explainOpen(p string, err error) error {
	var step *initproto.Error
	if !errors.As(err, &step) {
		return err
	}
	errno := syscall.Errno(step.Errno)
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		return sandbox.Errorf(sandbox.NotFound, "%s: %w", p, errno)
	case syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ELOOP, syscall.EXDEV:
		return sandbox.Errorf(sandbox.Denied, "%s: %w", p, errno)
	case syscall.ENOSPC, syscall.EDQUOT:
		return sandbox.Errorf(sandbox.Unavailable, "%s: %w", p, errno).WithHint("the disk is full")
	}
	return sandbox.Errorf(sandbox.Invalid, "%s: %w", p, errno)
}
