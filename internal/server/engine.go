package server

import (
	"context"
	"os"
	"time"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/changes/patch"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Engine is what the server asks of the use cases. A ref is a name, an id or
// a unique prefix of one; it always has the form of a name when it gets here.
type Engine interface {
	Create(ctx context.Context, spec sandbox.Spec, o engine.CreateOptions) (v engine.View, replayed bool, err error)
	Get(ctx context.Context, ref string) (engine.View, error)
	List(ctx context.Context, f engine.Filter) (engine.Page, error)
	Delete(ctx context.Context, ref string, actor string) error
	Stop(ctx context.Context, ref string, grace time.Duration, actor string) (engine.View, error)
	Start(ctx context.Context, ref string, actor string) (engine.View, error)

	// Exec starts a command; ctx bounds the starting, not the command.
	Exec(ctx context.Context, ref string, c engine.Command) (Exec, error)
	Processes(ctx context.Context, ref string) ([]engine.Process, error)
	Signal(ctx context.Context, ref string, pid int, signal string) error

	// OpenFile opens path as PID 1 sees it; flags are open(2)'s.
	OpenFile(ctx context.Context, ref, path string, flags int, mode uint32) (*os.File, error)
	Diff(ctx context.Context, ref string, q engine.DiffQuery, each func(changes.Change, patch.File) error) error
	Audit(ctx context.Context, ref string, limit int) ([]sandbox.AuditEntry, error)
	GC(ctx context.Context, p engine.GCPolicy, actor string) (engine.Collection, error)
	Reviewer
	Volumes
	Health(ctx context.Context) (engine.Health, error)
}

// Exec is a started command. The pipes are nonblocking, so that the Go runtime
// can interrupt a read or a write with a deadline.
//
//	call        when
//	Wait        until it has returned without the error of its context
//	Finish      once, after Wait; releases the pipes
//	Signal,Kill any time; after the end they do nothing
//
// When the daemon shuts down while the command runs neither Kill nor Finish is
// called: PID 1 keeps the command for the next daemon.
type Exec interface {
	ID() string
	Stdin() *os.File // nil unless Command.Stdin
	Stdout() *os.File
	Stderr() *os.File
	CloseStdin() error
	Signal(name string) error // a canonical name such as SIGINT
	Kill()                    // the whole tree

	// Wait returns when the main process has ended, or has run out of time and
	// the whole tree was killed. It may be called again after ctx ended it.
	Wait(ctx context.Context) (engine.Outcome, error)

	// Finish carries out Command.OnExit and reports whether the sandbox still exists.
	Finish(ctx context.Context) (kept bool, err error)
}
