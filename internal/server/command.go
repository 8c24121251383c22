package server

import (
	"encoding/base64"
	"io"
	"strings"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

const (
	defaultOutput = 8 << 20
	maxOutput     = 64 << 20
	maxTimeout    = 365 * 24 * time.Hour
)

// commandOf checks what exec and attach have in common.
func commandOf(req api.ExecRequest) (engine.Command, error) {
	switch {
	case req.Shell != "":
		return engine.Command{}, notYet("shell")
	case req.AllowNetwork != nil:
		return engine.Command{}, notYet("allowNetwork")
	case req.TimeoutMs < 0 || req.TimeoutMs > maxTimeout.Milliseconds():
		return engine.Command{}, sandbox.Errorf(sandbox.Invalid, "timeoutMs %d is not between 0 and %d", req.TimeoutMs, maxTimeout.Milliseconds())
	}
	c := engine.Command{
		Command: req.Command, Direct: req.Args != nil, Env: req.Env, WorkingDir: req.WorkingDir, User: req.User,
		Timeout: time.Duration(req.TimeoutMs) * time.Millisecond, OnExit: engine.Keep,
	}
	if req.Args != nil {
		c.Args = *req.Args
	}
	if err := c.Validate(); err != nil {
		return c, err
	}
	if len(c.WorkingDir) > maxPathLength {
		return c, sandbox.Errorf(sandbox.Invalid, "workingDir is longer than %d bytes", maxPathLength)
	}
	return c, nil
}

// bufferedCommand is for exec, where stdin is in the request and output is
// kept up to a limit.
func bufferedCommand(req api.ExecRequest) (c engine.Command, stdin io.Reader, limit int, err error) {
	if req.Interactive || req.OnExit != "" {
		return c, nil, 0, sandbox.Errorf(sandbox.Invalid, "interactive and onExit are only for exec/attach")
	}
	if c, err = commandOf(req); err != nil {
		return c, nil, 0, err
	}
	if stdin, err = stdinOf(req); err != nil {
		return c, nil, 0, err
	}
	c.Stdin = stdin != nil
	limit = defaultOutput
	if req.MaxOutputBytes != 0 {
		limit = int(min(req.MaxOutputBytes, maxOutput+1))
	}
	if limit < 0 || limit > maxOutput {
		return c, nil, 0, sandbox.Errorf(sandbox.Invalid, "maxOutputBytes %d is not between 1 and %d", req.MaxOutputBytes, maxOutput)
	}
	return c, stdin, limit, nil
}

func stdinOf(req api.ExecRequest) (io.Reader, error) {
	switch req.StdinEncoding {
	case "":
	case "base64":
		b, err := base64.StdEncoding.DecodeString(req.Stdin)
		if err != nil {
			return nil, sandbox.Errorf(sandbox.Invalid, "stdin is not base64: %w", err)
		}
		req.Stdin = string(b)
	default:
		return nil, sandbox.Errorf(sandbox.Invalid, "unknown stdinEncoding %.32q", req.StdinEncoding).WithHint("base64, or leave it out")
	}
	if req.Stdin == "" {
		return nil, nil
	}
	return strings.NewReader(req.Stdin), nil
}

// attachedCommand is for attach, where stdin and output are frames.
func attachedCommand(req api.ExecRequest) (engine.Command, error) {
	if req.Stdin != "" || req.StdinEncoding != "" || req.MaxOutputBytes != 0 {
		return engine.Command{}, sandbox.Errorf(sandbox.Invalid, "stdin, stdinEncoding and maxOutputBytes are not for exec/attach").
			WithHint("set interactive and send stdin as frames")
	}
	c, err := commandOf(req)
	if err != nil {
		return c, err
	}
	c.Stdin, c.Attached = req.Interactive, true
	c.OnExit, err = onExit(req.OnExit)
	return c, err
}

func onExit(s string) (engine.OnExit, error) {
	switch o := engine.OnExit(s); o {
	case "", engine.Keep:
		return engine.Keep, nil
	case engine.Remove, engine.RemoveIfUnchanged:
		return o, nil
	}
	return "", sandbox.Errorf(sandbox.Invalid, "unknown onExit %.32q", s).WithHint("one of keep, remove, removeIfUnchanged")
}
