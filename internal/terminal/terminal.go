package terminal

import (
	"context"
	"log/slog"
	"time"

	"github.com/coop-dev/coop/api"
)

// Config is what a Terminal is made of.
type Config struct {
	Number  int
	Role    string
	Command string // for display
	Dir     string // sandboxes/<id>/terminals/<n>; made if it is not there
	Pty     Pty

	Cols, Rows int   // 0: 80 × 24, or what the log says
	Scrollback int64 // bytes always kept; 0: 256 KiB

	// Hold keeps the reader from reading until the first client is there, or so
	// long: what a short command prints then reaches its client byte for byte.
	// For RoleExec; 0 does not hold.
	Hold time.Duration

	// Of web clients, on terminal 0.
	CtrlCDebounce time.Duration
	Block         [][]byte

	NewScreen func(cols, rows int) Screen
	Log       *slog.Logger

	Activity func()            // input or output; called often, must not block
	Degraded func(cause error) // the log cannot be written; nil: it can again
}

// Terminal is one terminal of a sandbox as the daemon serves it.
//
//	who     calls
//	engine  Open, then for each program Started, Drain, Exited; Restarting before
//	        another one is started, Failed when none is; Close at last
//	server  Attach, Info, Resize, History
type Terminal struct{ cfg Config }

// Open takes up a terminal where the log in cfg.Dir ends, or begins one.
func Open(cfg Config) (*Terminal, error) { return &Terminal{cfg: cfg}, nil }

// Started says that a program runs on the terminal now. After the first one the
// screen and the clients' terminals are reset.
func (t *Terminal) Started(command string, pid int) {}

// Drain returns when everything the ended program wrote has been stored and
// handed to the clients' queues. It is called after the program has ended.
func (t *Terminal) Drain(ctx context.Context) error { return nil }

// Exited drains, then tells the clients how the program ended.
func (t *Terminal) Exited(ctx context.Context, s Status) error { return nil }

// Restarting tells the clients that a program will be started after delay.
func (t *Terminal) Restarting(delay time.Duration) {}

// Failed tells the clients that none will be, and why.
func (t *Terminal) Failed(reason string) {}

// Close detaches the clients, with reason, and lets go of the Pty and the log.
// After Exited without Restarting or Failed the clients have their exit and are
// told nothing more. It may be called twice.
func (t *Terminal) Close(reason string) error { return nil }

// Number is its number.
func (t *Terminal) Number() int { return t.cfg.Number }

// Info is the terminal as the API shows it.
func (t *Terminal) Info() api.Terminal { return api.Terminal{} }

// Resize sets the size until a client is active again.
func (t *Terminal) Resize(cols, rows int) error { return nil }

// History is the stored output of a terminal: an io.ReaderAt of Size bytes.
type History struct{}

// Attach adds a client.
func (t *Terminal) Attach(o ClientOptions) (*Client, error) { return nil, nil }

// ClientOptions say what a client wants.
type ClientOptions struct {
	Cols, Rows int // 0: it has no size
	ReadOnly   bool
	Web        bool // its input passes the filter on terminal 0
	Scrollback bool // older lines before the screen
}

// Client is one viewer.
type Client struct{}

// OpenHistory opens the log in dir for reading, while nobody writes it.
func OpenHistory(dir string) (*History, error) { return nil, nil }

// Numbers lists the terminals that have a log below dir (sandboxes/<id>/terminals).
func Numbers(dir string) ([]int, error) { return nil, nil }
