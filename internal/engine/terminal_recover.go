package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/coop-dev/coop/internal/launch"
	"github.com/coop-dev/coop/internal/terminal"
)

// resumeTerminals takes over what an earlier daemon left: each terminal goes on
// where its log ends. One whose program has ended meanwhile is at the point in
// its life where that daemon would be now.
func (e *Engine) resumeTerminals(l *live) {
	l.terminals.next = max(1, l.init.NextTerminal())
	for _, pty := range l.init.Terminals() {
		var n seatNote
		if err := json.Unmarshal([]byte(pty.Program().Note), &n); err != nil || !knownRole(n.Request.Role) {
			e.Log.Error("terminal without a note", "sandbox", l.id, "terminal", pty.Number, "err", err)
			e.abandonTerminal(l.id, pty)
			continue
		}
		e.resumeTerminal(l, pty, n)
	}
}

// resumeTerminal serves one terminal again. When its log cannot be opened, for
// want of disk space for instance, what runs on it must not suffer: its output
// waits with PID 1, and the next daemon tries again.
func (e *Engine) resumeTerminal(l *live, pty *launch.Terminal, n seatNote) {
	s, err := e.takeSeat(l, pty, n, true)
	if err != nil {
		e.Log.Error("take up terminal", "sandbox", l.id, "terminal", pty.Number, "err", err)
		_ = pty.Close() // our hold only
		return
	}
	l.terminals.mu.Lock()
	l.terminals.list[s.number] = s
	l.terminals.mu.Unlock()
	go e.watchSeat(l.terminals, s)
}

func knownRole(r string) bool {
	return r == terminal.RoleAgent || r == terminal.RoleShell || r == terminal.RoleExec
}

// drainTime is how long an end waits for the last words of programs to be stored.
const drainTime = 2 * time.Second

// lastWords returns when the output of programs that are ending is stored.
func (ts *terminals) lastWords(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	for _, s := range ts.all() {
		_, _ = s.pty.Program().Wait(ctx) // whoever does not end in time is killed
	}
	ts.drain(ctx)
}

// drain stores what programs that have ended wrote.
func (ts *terminals) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	for _, s := range ts.all() {
		_ = s.hub.Drain(ctx) // what takes longer than that is lost with PID 1
	}
}
