package server

import (
	"context"

	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/terminal"
)

// Terminals is what the server asks of the use cases about terminals. A ref is
// as for Engine; numbers are never negative when they get here.
type Terminals interface {
	// Terminals lists the live ones, by number.
	Terminals(ctx context.Context, ref string) ([]*terminal.Terminal, error)
	// Terminal is a live one, or not_found.
	Terminal(ctx context.Context, ref string, n int) (*terminal.Terminal, error)
	// OpenTerminal starts a program on a new terminal. made is false when
	// Request.Reuse found a live one.
	OpenTerminal(ctx context.Context, ref string, r terminal.Request) (t *terminal.Terminal, made bool, err error)
	// KillTerminal ends the program's whole tree, and the terminal unless it is 0.
	KillTerminal(ctx context.Context, ref string, n int, actor string) error
	// RestartTerminal ends the program and starts it again, also one that the
	// crash-loop guard had given up.
	RestartTerminal(ctx context.Context, ref string, n int, r terminal.Restart, actor string) (*terminal.Terminal, error)
	// TerminalLog opens what is stored of a terminal, also of one that has
	// ended and of a sandbox that is stopped. The caller closes it.
	TerminalLog(ctx context.Context, ref string, n int) (*terminal.History, error)
	// Restart starts the agent again with what coop.toml says now; a stopped
	// sandbox is started.
	Restart(ctx context.Context, ref string, r terminal.Restart, actor string) (engine.View, error)
}
