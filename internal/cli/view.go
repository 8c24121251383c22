package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/config"
)

// A view is a person's terminal on a terminal of a sandbox. One goroutine, the
// supervisor, owns the local terminal and does nothing that can block or fail;
// all work is done by others, which report to it:
//
//	who       does                                     reports
//	follow    attaches, shows output, attaches again   the end, once
//	read      reads the keyboard                       –
//	press     looks for the detach key                 detach
//	send      input to the daemon                      –
//	signals   from the kernel                          every one
//
// Whatever happens, a panic in any of them included, the supervisor gives the
// local terminal back before anything else is printed.
type view struct {
	tty      *localTerminal
	open     opener
	keys     config.DetachKey
	readOnly bool
	agent    bool // what ends may be started again

	events chan event
	outbox outbox
	winch  chan struct{} // the size has changed

	mu      sync.Mutex
	stream  viewStream
	redrawn bool // the stream was given up for a fresh screen
}

// viewStream is an attached terminal.
type viewStream interface {
	Next() (client.Frame, error)
	WriteStdin(p []byte) (int, error)
	Resize(cols, rows int) error
	Detach() error
	Close() error
}

// opener attaches to a terminal, with a fresh screen. With start it may start a
// daemon when there is none.
type opener func(ctx context.Context, cols, rows int, start bool) (viewStream, error)

// outcome is how a view ended. Without err, result is set unless detached.
type outcome struct {
	result   *api.ExecResult
	kept     *bool
	detached bool
	shown    bool // it was attached at least once
	err      error
}

// event is what the supervisor is told: one of them.
type event struct {
	end      *outcome
	panicked any
}

// errInterrupted is a view that a signal ended; what it showed goes on.
var errInterrupted = fmt.Errorf("interrupted; the program goes on: %w", context.Canceled)

// endings are the signals that would end a Go program on the spot, with the
// terminal raw. SIGINT comes from outside: ctrl-c is a byte here. SIGPIPE is
// none of them: asking for it would bring one for every daemon that went away.
var endings = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGABRT, syscall.SIGALRM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGVTALRM,
	syscall.SIGIO, syscall.SIGPWR, syscall.SIGSTKFLT, syscall.SIGSYS, syscall.SIGTRAP,
}

// run shows first, and whatever open gives after it, until the end.
func (v *view) run(ctx context.Context, first viewStream) outcome {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, endings...)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT)
	defer signal.Stop(signals)
	if ctx.Err() != nil {
		_ = first.Close() // nothing was shown yet
		return outcome{err: ctx.Err()}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // signals are ours now
	defer cancel()

	v.events, v.winch = make(chan event, 8), make(chan struct{}, 1)
	v.outbox.init()
	defer v.outbox.close()
	if err := v.tty.enter(); err != nil {
		_ = first.Close() // see above
		return outcome{err: err}
	}
	defer v.tty.leave()
	defer v.drop()
	v.start(ctx, first)
	return v.supervise(signals)
}

func (v *view) start(ctx context.Context, first viewStream) {
	typed := make(chan []byte)
	v.guard(func() { o := v.follow(ctx, first); v.tell(event{end: &o}) })
	v.guard(func() { v.read(ctx, typed) })
	v.guard(func() { v.press(ctx, typed) })
}

// guard runs a part of the view; what it panics with is the supervisor's.
func (v *view) guard(part func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				v.tell(event{panicked: fmt.Sprintf("%v\n\n%s", p, debug.Stack())})
			}
		}()
		part()
	}()
}

// tell never blocks: what comes after the first ends is of no interest.
func (v *view) tell(e event) {
	select {
	case v.events <- e:
	default:
	}
}

func (v *view) supervise(signals <-chan os.Signal) outcome {
	for {
		select {
		case e := <-v.events:
			if e.panicked != nil {
				v.tty.leave()
				panic(e.panicked)
			}
			return *e.end
		case s := <-signals:
			if err := v.signal(s); err != nil {
				return outcome{err: err}
			}
		}
	}
}

func (v *view) signal(s os.Signal) error {
	switch s {
	case syscall.SIGWINCH:
		v.resize()
	case syscall.SIGTSTP:
		v.suspend()
	case syscall.SIGCONT:
		return v.resume()
	default:
		return errInterrupted
	}
	return nil
}

// suspend gives the terminal back and stops us, as a shell's user expects of
// kill -TSTP. The stop takes effect some time after the call; until SIGCONT
// nothing is shown.
func (v *view) suspend() {
	if !canStop() {
		return
	}
	v.tty.leave()
	_ = stopSelf() // a process may always stop itself
}

// resume takes the terminal again, also when it was a SIGSTOP that stopped us
// and a shell has changed it since. In the background enter stops us once more,
// by SIGTTOU, until the shell brings us back.
func (v *view) resume() error {
	if err := v.tty.enter(); err != nil {
		return err
	}
	v.mu.Lock()
	v.redrawn = true
	v.mu.Unlock()
	v.drop()
	return nil
}

// present is the stream there is, or nil while there is none.
func (v *view) present() viewStream {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stream
}

// drop closes the present stream; follow opens the next, if there is to be one.
func (v *view) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stream != nil {
		_ = v.stream.Close() // it wakes who reads it
	}
}

// resize wakes whoever sends sizes; several changes at once are one.
func (v *view) resize() {
	select {
	case v.winch <- struct{}{}:
	default:
	}
}

// sendSizes tells the daemon of every new size.
func (v *view) sendSizes(ctx context.Context, stream viewStream) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.winch:
			cols, rows := v.tty.size()
			if stream.Resize(cols, rows) != nil {
				v.resize() // the next stream may have begun with the old one
				return
			}
		}
	}
}
