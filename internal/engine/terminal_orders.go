package engine

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/terminal"
)

// tell gives an order to whoever watches a terminal and waits until it was
// carried out.
func (s *seat) tell(ctx context.Context, o order) error {
	o.done = make(chan error, 1)
	select {
	case s.orders <- o:
	case <-s.over.Done():
		return noTerminal(s.number)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// KillTerminal ends a program's whole tree, and the terminal unless it is 0.
func (e *Engine) KillTerminal(ctx context.Context, ref string, n int, actor string) error {
	l, err := e.find(ctx, ref)
	if err != nil {
		return err
	}
	s := l.terminals.get(n)
	if s == nil {
		return noTerminal(n)
	}
	e.Log.Info("kill terminal", "sandbox", l.id, "terminal", n, "actor", actor)
	if s.noted().Request.Role == terminal.RoleAgent {
		return s.tell(ctx, order{})
	}
	if err := s.pty.Program().Kill(ctx); err != nil {
		return err
	}
	select {
	case <-s.retired:
		return nil
	case <-s.over.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// killedReason is why an agent that somebody has killed is not started again.
const killedReason = "it was killed; coop restart starts it again"

// killedMark is beside the logs of a sandbox whose agent was killed by request:
// the next daemon shall not start it again either.
func (e *Engine) killedMark(id sandbox.ID) string {
	return filepath.Join(e.terminalsDir(id), "killed")
}

func (e *Engine) wasKilled(id sandbox.ID) bool {
	_, err := os.Stat(e.killedMark(id))
	return err == nil
}

// noteKilled makes the mark or takes it away, before the program is ended.
func (e *Engine) noteKilled(id sandbox.ID, killed bool) error {
	err := os.Remove(e.killedMark(id))
	if killed {
		err = os.WriteFile(e.killedMark(id), nil, 0o600)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return sandbox.Errorf(sandbox.Unavailable, "note that the agent was killed: %w", err)
}

// RestartTerminal ends the program and starts it again, also one that the
// crash-loop guard had given up.
func (e *Engine) RestartTerminal(ctx context.Context, ref string, n int, r terminal.Restart, actor string) (*terminal.Terminal, error) {
	l, err := e.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		if l, err = e.restartAgent(ctx, l, r, actor); err != nil {
			return nil, err
		}
		return l.terminals.get(0).hub, nil
	}
	if r.Agent != nil || r.Session != nil {
		return nil, sandbox.Errorf(sandbox.Invalid, "agent and session are of terminal 0")
	}
	s := l.terminals.get(n)
	if s == nil || s.isOver() {
		return nil, noTerminal(n)
	}
	next := s.noted().Request
	if r.Env != nil {
		next.Env = maps.Clone(next.Env)
		if next.Env == nil {
			next.Env = map[string]string{}
		}
		maps.Copy(next.Env, r.Env)
	}
	return s.hub, s.tell(ctx, order{next: &next})
}

// Restart starts the agent again with what coop.toml says now; a stopped sandbox
// is started.
func (e *Engine) Restart(ctx context.Context, ref string, r terminal.Restart, actor string) (View, error) {
	found, err := e.Store.Resolve(ctx, ref)
	if err != nil {
		return View{}, err
	}
	l := e.running(found.ID)
	if l == nil {
		if err := e.amend(ctx, found.ID, r, actor); err != nil {
			return View{}, err
		}
		return e.Start(ctx, string(found.ID), actor)
	}
	if _, err := e.restartAgent(ctx, l, r, actor); err != nil {
		return View{}, err
	}
	return e.Get(ctx, string(found.ID))
}

// restartAgent writes down what is new and starts terminal 0 again.
func (e *Engine) restartAgent(ctx context.Context, l *live, r terminal.Restart, actor string) (*live, error) {
	if err := e.amend(ctx, l.id, r, actor); err != nil {
		return nil, err
	}
	if l = e.running(l.id); l == nil {
		return nil, sandbox.Errorf(sandbox.Conflict, "the sandbox is being stopped")
	}
	s, made, err := e.startAgent(ctx, l, 0, 0)
	if err != nil || made {
		return l, err
	}
	next := agentRequest(l.spec)
	return l, s.tell(ctx, order{next: &next})
}

// amend changes what a sandbox is made of, as far as that concerns programs that
// are started later.
func (e *Engine) amend(ctx context.Context, id sandbox.ID, r terminal.Restart, actor string) error {
	rec, unlock, err := e.resolve(ctx, string(id))
	if err != nil {
		return err
	}
	defer unlock()
	if r.Agent == nil && r.Env == nil && r.Session == nil {
		return nil
	}
	if r.Agent != nil {
		rec.Spec.Agent = *r.Agent
	}
	if r.Env != nil {
		rec.Spec.Env = r.Env
	}
	if r.Session != nil {
		rec.Spec.Session = *r.Session
	}
	rec.Spec = rec.Spec.WithDefaults()
	if err := rec.Spec.Validate(); err != nil {
		return err
	}
	audit := sandbox.AuditEntry{
		Event: "restart", Sandbox: rec.ID, Name: rec.Spec.Name, From: rec.Status, To: rec.Status,
		Actor: actor, Detail: "with new settings", At: time.Now().UTC(),
	}
	rec.UpdatedAt = audit.At
	if err := e.Store.Update(ctx, rec, audit); err != nil {
		return err
	}
	if l := e.running(id); l != nil {
		changed := *l // others read theirs without a lock
		changed.spec = rec.Spec
		changed.terminals.live.Store(&changed)
		e.attend(id, &changed)
	}
	return nil
}
