package terminal

import (
	"errors"
	"strings"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/terminal/screen"
)

// Errors of the calls of clients.
var (
	ErrReadOnly = errors.New("the client is read-only")
	errClosed   = errors.New("the terminal is closed")
)

// tell sends a control frame to every client. The caller holds mu.
func (t *Terminal) tell(control api.Control) {
	for c := range t.clients {
		c.pushControl(control)
	}
}

func controlExit(s Status) api.Control {
	return api.Control{Type: "exit", Kept: s.Kept, Exit: &api.ExecResult{
		ExitCode: s.Code, Signal: s.Signal, TimedOut: s.TimedOut, DurationMs: s.Duration.Milliseconds(),
	}}
}

func controlDegraded(reason string) api.Control {
	return api.Control{Type: "degraded", Reason: reason}
}

// freshStart is sent to viewers when another program begins: what the last one
// showed moves into their scrollback, its modes are undone, and the screen is
// as a new one.
func freshStart(cols, rows int) []byte {
	b := append(screen.Leave(), scrollOff(rows)...)
	return append(b, screen.New(cols, rows).Snapshot()...)
}

// scrollOff moves what is on a viewer's screen into its scrollback.
func scrollOff(rows int) string {
	return "\x1b[999;1H" + strings.Repeat("\n", rows)
}
