package server

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

// execBuffered runs one command and answers with what it wrote.
func (s *Server) execBuffered(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	var req api.ExecRequest
	if err := decodeBody(w, r, maxExecBody, &req); err != nil {
		return err
	}
	c, stdin, limit, err := bufferedCommand(req)
	if err != nil {
		return err
	}
	ex, err := s.cfg.Engine.Exec(r.Context(), id, c)
	if err != nil {
		return err
	}
	if stdin == nil {
		if answered, err := glanceAndAnswer(w, r.Context(), ex, limit); answered {
			return err
		}
	}
	res, err := s.runBuffered(r.Context(), ex, stdin, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, res)
}

// glanceAndAnswer is for a command that ends at once, as most do. Starting
// readers for it, and ending them, would take longer than the command; and the
// client has its answer before the command is let go of, which takes a while and
// cannot fail here: nothing is to happen on its exit.
func glanceAndAnswer(w http.ResponseWriter, ctx context.Context, ex Exec, limit int) (answered bool, err error) {
	outcome, ok := glance(ctx, ex)
	if !ok {
		return false, nil
	}
	stdout, stderr := &capture{limit: limit}, &capture{limit: limit}
	drain(ex.Stdout(), make([]byte, firstBuffer), stdout.sink())
	drain(ex.Stderr(), make([]byte, firstBuffer), stderr.sink())
	err = writeJSON(w, http.StatusOK, bufferedResult(outcome, stdout, stderr))
	_ = http.NewResponseController(w).Flush() // what cannot be flushed now is when we return
	_, ferr := finish(ctx, ex)
	return true, errors.Join(err, ferr)
}

func (s *Server) runBuffered(ctx context.Context, ex Exec, stdin io.Reader, limit int) (api.ExecResult, error) {
	ctx, cancel := s.untilClosing(ctx)
	defer cancel(nil)
	stdout, stderr := &capture{limit: limit}, &capture{limit: limit}
	p, err := startPumps(ex, stdout.sink(), stderr.sink(), stdin)
	if err != nil {
		abort(ctx, ex)
		return api.ExecResult{}, err
	}
	outcome, err := await(ctx, ex)
	if errors.Is(err, errClosing) {
		p.leave()
		return api.ExecResult{}, sandbox.Errorf(sandbox.Unavailable, "%w", errClosing).WithHint("the command keeps running in its sandbox")
	}
	p.stop()
	if _, ferr := finish(ctx, ex); err == nil {
		err = ferr
	}
	if err == nil {
		err = ctx.Err() // nobody is left to read the answer
	}
	if err != nil {
		return api.ExecResult{}, err
	}
	return bufferedResult(outcome, stdout, stderr), nil
}

// glanceTime is how long a command may take before somebody reads along. Until
// then its pipes hold 64 KiB each, and a program that fills one waits that long.
const glanceTime = 2 * time.Millisecond

// glance waits for a command that ends at once.
func glance(ctx context.Context, ex Exec) (engine.Outcome, bool) {
	ctx, cancel := context.WithTimeout(ctx, glanceTime)
	defer cancel()
	outcome, err := ex.Wait(ctx)
	return outcome, err == nil
}

// resultOf is an outcome without output. A command that ran out of time has
// the status that timeout(1) gives it, whatever killed it.
func resultOf(o engine.Outcome) api.ExecResult {
	res := api.ExecResult{ExitCode: o.Code, Signal: o.Signal, TimedOut: o.TimedOut, DurationMs: o.Duration.Milliseconds()}
	if o.TimedOut {
		res.ExitCode = api.ExitTimeout
	}
	return res
}

func bufferedResult(o engine.Outcome, stdout, stderr *capture) api.ExecResult {
	res := resultOf(o)
	out, errOut := stdout.bytes(), stderr.bytes()
	res.Truncated = stdout.cut || stderr.cut
	res.Stdout, res.Stderr = string(out), string(errOut)
	if !utf8.Valid(out) || !utf8.Valid(errOut) {
		res.Encoding = "base64"
		res.Stdout, res.Stderr = base64.StdEncoding.EncodeToString(out), base64.StdEncoding.EncodeToString(errOut)
	}
	return res
}

// capture keeps the first limit bytes of a stream and forgets the rest: the
// command goes on, the daemon does not grow.
type capture struct {
	limit int
	buf   []byte
	cut   bool
}

func (c *capture) sink() sink { return sink{take: c.take} }

func (c *capture) take(p []byte) {
	room := c.limit - len(c.buf)
	if len(p) > room {
		p, c.cut = p[:room], true
	}
	c.buf = append(c.buf, p...)
}

// bytes is what was kept, without the part of a character that the limit left.
func (c *capture) bytes() []byte {
	if !c.cut {
		return c.buf
	}
	for n := 1; n < utf8.UTFMax && n <= len(c.buf); n++ {
		tail := c.buf[len(c.buf)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return c.buf[:len(c.buf)-n]
			}
			break
		}
	}
	return c.buf
}
