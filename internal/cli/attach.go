package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

// execFlags are what run and exec say about the command itself.
type execFlags struct {
	workdir     string
	timeout     time.Duration
	interactive bool
	tty         bool
	view        viewFlags
}

func (e *execFlags) add(f *pflag.FlagSet) {
	f.StringVarP(&e.workdir, "workdir", "w", "", "directory inside to run in")
	f.DurationVar(&e.timeout, "timeout", 0, "end the command after this long, as 30s")
	f.BoolVarP(&e.interactive, "interactive", "i", false, "pass stdin on (it always is, unless it is /dev/null)")
	f.BoolVarP(&e.tty, "tty", "t", false, "give the command a terminal")
	e.view.add(f)
}

// request is the command, executed directly: without a shell there is nothing
// to quote.
func (e *execFlags) request(command []string, stdin io.Reader) (api.ExecRequest, error) {
	if e.timeout < 0 {
		return api.ExecRequest{}, &usageError{message: "--timeout cannot be negative"}
	}
	args := command[1:]
	return api.ExecRequest{
		Command:     command[0],
		Args:        &args,
		WorkingDir:  e.workdir,
		TimeoutMs:   (e.timeout + time.Millisecond - 1).Milliseconds(), // a shorter one is not none
		Interactive: stdin != nil && (e.interactive || hasInput(stdin)),
	}, nil
}

// hasInput is false for no stdin and for /dev/null, which a closed one is too:
// the Go runtime opens it in its place.
func hasInput(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return stdin != nil
	}
	in, err := f.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(in, null)
}

// patience is how many SIGINTs a command may leave without an answer.
const patience = 3

var errGaveUp = errors.New("interrupted; the command may still run")

// ended is what became of an attached command.
type ended struct {
	result *api.ExecResult
	kept   *bool
	err    error
}

// attach runs a command with our stdin, stdout, stderr and signals. Signals
// belong to the command from here on, so ctx ends nothing; it only says that
// one came before.
//
// SIGTSTP and SIGCONT keep their meaning: they stop us, and the command only
// when it has filled the pipe. SIGPIPE must not kill us before the stream is
// closed, so it is taken and the failing write is what counts.
func (a *app) attach(ctx context.Context, c *client.Client, ref string, req api.ExecRequest) (e ended, attached bool) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	if ctx.Err() != nil {
		return ended{err: ctx.Err()}, false
	}

	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	relay := &signalRelay{names: make(chan string, 16), giveUp: func() { cancel(errGaveUp) }}
	go relay.run(ctx, signals)

	stream, err := c.Attach(ctx, ref, req)
	if err != nil {
		return ended{err: err}, false
	}
	defer stream.Close()
	return a.follow(ctx, stream, relay, req.Interactive), true
}

// follow waits for the command, or for the person to give up: then writing to
// our own stdout may be what blocks, and nothing can interrupt that.
func (a *app) follow(ctx context.Context, stream *client.Stream, relay *signalRelay, interactive bool) ended {
	var stdin io.Reader
	if interactive {
		stdin = a.streams.In
	}
	done := make(chan ended, 1)
	go func() {
		var e ended
		e.result, e.kept, e.err = stream.Run(ctx, stdin, relay.watch(a.streams.Out), relay.watch(a.streams.Err), relay.names)
		done <- e
	}()
	select {
	case e := <-done:
		return e
	case <-ctx.Done():
		return ended{err: &statusError{status: api.ExitInterrupted, err: errGaveUp}}
	}
}

// signalRelay passes signals on without ever waiting for the connection, and
// gives up when SIGINTs come and the command neither writes nor ends.
type signalRelay struct {
	names      chan string
	giveUp     func()
	unanswered atomic.Int32
}

func (r *signalRelay) run(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			r.relay(s)
		}
	}
}

func (r *signalRelay) relay(s os.Signal) {
	select {
	case r.names <- signalName(s):
	default: // sixteen are waiting: the connection is stuck
	}
	if s == syscall.SIGINT && r.unanswered.Add(1) >= patience {
		r.giveUp()
	}
}

// watch notes output as an answer.
func (r *signalRelay) watch(w io.Writer) io.Writer { return &watched{w, r} }

type watched struct {
	io.Writer
	relay *signalRelay
}

func (w *watched) Write(p []byte) (int, error) {
	w.relay.unanswered.Store(0)
	return w.Writer.Write(p)
}

// status is a command's own exit status.
func status(r *api.ExecResult) int {
	if r.TimedOut {
		return api.ExitTimeout
	}
	if n := signalNumber(r.Signal); n != 0 {
		return 128 + n
	}
	return r.ExitCode & 0xff // what wait(2) would give
}

// finished turns the command's end into the verb's.
func finished(r *api.ExecResult) error {
	if r.TimedOut {
		return &statusError{status: api.ExitTimeout, err: errors.New("the command ran into its time limit")}
	}
	if s := status(r); s != 0 {
		return &statusError{status: s}
	}
	return nil
}
