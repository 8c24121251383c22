package terminal

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coop-dev/coop/internal/terminal/screen"
	"github.com/coop-dev/coop/internal/terminal/store"
)

// Config is what a Terminal is made of.
type Config struct {
	Number  int
	Role    string
	Command string // for display
	Dir     string // sandboxes/<id>/terminals/<n>; made if it is not there
	Pty     Pty

	// PID is of a program that a new daemon found on the terminal, still running
	// or ended unnoticed, so that its output has to be read; 0: Started will tell.
	PID      int
	Restarts int // how often one was started again before

	Cols, Rows int   // 0: what the log says, else 80 × 24
	Scrollback int64 // bytes always kept; 0: 256 KiB

	// Hold keeps the reader from reading until the first client is there, or so
	// long: what a short command prints then reaches its client byte for byte.
	// For RoleExec; 0 does not hold.
	Hold time.Duration

	// Of web clients, on terminal 0.
	CtrlCDebounce time.Duration
	Block         [][]byte

	Log *slog.Logger

	Activity func()            // input or output; called often, must not block
	Degraded func(cause error) // the log cannot be written; nil: it can again
}

// Terminal is one terminal of a sandbox as the daemon serves it.
//
//	who     calls
//	engine  Open, then for each program Started, Drain, Exited; Restarting before
//	        another one is started, Failed when none is; Close at last
//	server  Attach, Info, Resize, History, Watch, Read
//
// Output passes through these stations. Each has its lock, taken in this order:
//
//	sizing   one change of the window's size at a time
//	storing  the log: what is stored is published before anything else is stored
//	drawing  the screen
//	mu       the backlog between log and screen, the clients' queues, the rest
type Terminal struct {
	cfg Config
	log *slog.Logger

	sizing sync.Mutex

	storing sync.Mutex
	store   *store.Log
	readers int    // who may still read it after Close
	unsaved []item // in order, while the disk is full; not acknowledged
	retry   *time.Timer
	stored  uint64 // offset in the Pty's stream up to which everything is stored

	drawing sync.Mutex
	screen  *screen.Screen
	blank   bool // nothing was drawn since it was new

	mu       sync.Mutex
	backlog  []item // published, not drawn
	behind   int    // bytes in it
	painting bool
	drawn    chan struct{} // holds a token after painting ended
	clients  map[*Client]struct{}
	watchers map[chan struct{}]struct{}
	epoch    int    // counts the new beginnings of the screen
	turn     uint64 // counts activity; the client with the highest decides the size
	state    state
	mercy    mercy

	room    chan struct{} // holds a token after the backlog or a queue got shorter
	held    chan struct{} // closed when the reader may begin
	release sync.Once
	closing chan struct{}
	work    sync.WaitGroup
	input   sync.Mutex
}

// item is one thing that happens to the screen: output, another size, or a new
// beginning.
type item struct {
	data  []byte
	event store.Event // Kind 0: output
}

// Open takes up a terminal where the log in cfg.Dir ends, or begins one.
func Open(cfg Config) (*Terminal, error) {
	if cfg.Scrollback <= 0 {
		cfg.Scrollback = defaultScrollback
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l, err := store.Open(cfg.Dir, cfg.Scrollback)
	if err != nil {
		return nil, fmt.Errorf("open terminal log: %w", err)
	}
	t := &Terminal{
		cfg: cfg, log: cfg.Log.With("terminal", cfg.Number), store: l,
		clients: map[*Client]struct{}{}, watchers: map[chan struct{}]struct{}{}, drawn: make(chan struct{}, 1), room: make(chan struct{}, 1),
		held: make(chan struct{}), closing: make(chan struct{}),
		state: state{command: cfg.Command, pid: cfg.PID, running: cfg.PID != 0, restarts: cfg.Restarts, drained: make(chan struct{}), again: make(chan struct{}, 1)},
	}
	if err := t.takeUp(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	t.state.fresh = t.state.fresh && cfg.PID == 0
	t.hold()
	t.work.Go(t.read)
	return t, nil
}

// hold lets the reader wait for the first client.
func (t *Terminal) hold() {
	if t.cfg.Hold <= 0 {
		t.letGo()
		return
	}
	timer := time.AfterFunc(t.cfg.Hold, t.letGo)
	t.work.Go(func() {
		select {
		case <-t.held:
		case <-t.closing:
		}
		timer.Stop()
	})
}

func (t *Terminal) letGo() { t.release.Do(func() { close(t.held) }) }

// takeUp rebuilds the screen from the log. When PID 1 is another one than the
// log knows, offsets have begun again and so does the screen.
func (t *Terminal) takeUp() error {
	if damaged := t.store.Damaged(); len(damaged) > 0 {
		t.log.Warn("terminal log damaged", "segments", damaged)
	}
	stream, next := t.store.Stream()
	if !t.store.Empty() && stream != t.cfg.Pty.Stream() && t.cfg.Role != RoleAgent {
		// Numbers begin again with PID 1: this was another shell's.
		if err := t.store.Clear(); err != nil {
			return fmt.Errorf("clear terminal log: %w", err)
		}
	}
	if t.store.Empty() || stream != t.cfg.Pty.Stream() {
		if err := t.begin(); err != nil {
			return err
		}
		return t.skipGap()
	}
	t.stored = next
	err := t.store.Replay(t.load, func(p []byte) { t.draw(item{data: p}) }, t.replay)
	if err != nil {
		return fmt.Errorf("replay terminal log: %w", err)
	}
	t.state.title = t.screen.Title()
	return t.skipGap()
}

// keeper is a Pty that knows what it keeps.
type keeper interface {
	// Kept is the first byte that was not acknowledged, and the one after the last.
	Kept() (from, to uint64, err error)
}

// skipGap goes on with what PID 1 still has when a part of the log that was
// acknowledged is not there any more. Not going on would stop the program.
func (t *Terminal) skipGap() error {
	k, ok := t.cfg.Pty.(keeper)
	if !ok {
		return nil
	}
	from, to, err := k.Kept()
	if err != nil || t.stored >= from && t.stored <= to {
		return nil // an error is met by the reader too
	}
	t.log.Error("terminal log damaged: output is missing", "from", t.stored, "to", from)
	t.stored = from
	if err := t.store.Begin(t.start(from)); err != nil {
		return fmt.Errorf("begin terminal log: %w", err)
	}
	return nil
}

func (t *Terminal) begin() error {
	cols, rows := t.cfg.Cols, t.cfg.Rows
	if !ValidSize(cols, rows) {
		cols, rows = defaultCols, defaultRows
	}
	t.state.cols, t.state.rows, t.state.fresh = cols, rows, true
	t.screen, t.blank = screen.New(cols, rows), true
	if err := t.store.Begin(t.start(0)); err != nil {
		return fmt.Errorf("begin terminal log: %w", err)
	}
	return nil
}

// start describes a segment that begins now, with the screen as it is.
func (t *Terminal) start(streamAt uint64) store.Start {
	return store.Start{
		Stream: t.cfg.Pty.Stream(), StreamAt: streamAt, Cols: t.state.cols, Rows: t.state.rows,
		Blank: t.blank, State: t.screen.Save(),
	}
}

// load takes up the screen of a segment's beginning. One that another version
// wrote is not understood; then the screen begins empty and the output since
// fills it as well as it can.
func (t *Terminal) load(s store.Start) error {
	if !ValidSize(s.Cols, s.Rows) {
		s.Cols, s.Rows = defaultCols, defaultRows
	}
	t.state.cols, t.state.rows, t.blank = s.Cols, s.Rows, s.Blank
	loaded, err := screen.Load(s.State)
	if err != nil {
		t.log.Warn("terminal screen not taken up", "err", err)
		loaded = screen.New(s.Cols, s.Rows)
	}
	t.screen = loaded
	return nil
}

// replay applies an event of the log.
func (t *Terminal) replay(e store.Event) {
	if e.Kind == store.Resize && ValidSize(e.Cols, e.Rows) {
		t.state.cols, t.state.rows = e.Cols, e.Rows
	}
	t.draw(item{event: e})
}

// Number is its number.
func (t *Terminal) Number() int { return t.cfg.Number }

// Role is its role.
func (t *Terminal) Role() string { return t.cfg.Role }

// Numbers lists, in order, the terminals that have a log below dir, which is
// sandboxes/<id>/terminals.
func Numbers(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n >= 0 && strconv.Itoa(n) == e.Name() {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

// Dir is where the log of terminal n belongs below dir.
func Dir(dir string, n int) string { return filepath.Join(dir, strconv.Itoa(n)) }
