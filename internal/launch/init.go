package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/pidfd"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Init is the daemon's hold on one PID 1.
type Init struct {
	proc *pidfd.Process
	conn *initproto.Conn
	lost chan struct{} // closed when the connection is gone

	stream func() string // names this life of PID 1

	mu        sync.Mutex
	last      uint64
	pending   map[uint64]chan answer
	execs     map[string]*Exec
	programs  map[string]*Program // on terminals, by exec id
	terminals map[int]*Terminal
	nextTerm  int                         // the first number no terminal ever had
	early     map[string]initproto.Status // ends told before hello was through

	spares    []*spare // processes that wait to become programs
	preparing bool     // another one is on its way
	released  int      // programs that have come and gone
	hungUp    bool     // no more spares
}

type answer struct {
	msg initproto.Message
	fds []int
}

func newInit(proc *pidfd.Process, s socket) *Init {
	in := &Init{
		proc: proc, conn: &initproto.Conn{Socket: s, Max: initproto.MaxFromInit},
		lost: make(chan struct{}), pending: map[uint64]chan answer{}, execs: map[string]*Exec{},
		programs: map[string]*Program{}, terminals: map[int]*Terminal{},
	}
	in.stream = sync.OnceValue(in.nameStream)
	go in.read()
	return in
}

// helloTime bounds the first exchange with a PID 1 found again: one that is
// stopped or broken must not keep the daemon from starting.
const helloTime = 5 * time.Second

// Connect finds the PID 1 of a sandbox made by an earlier daemon and what that
// daemon left running.
func Connect(ctx context.Context, dir string) (*Init, error) {
	state, err := ReadState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: it was never started", ErrNotRunning)
	}
	if err != nil {
		return nil, err
	}
	proc, err := state.Find()
	if err != nil {
		return nil, err
	}
	conn, err := dial(filepath.Join(dir, "init.sock"))
	if err != nil {
		proc.Close()
		return nil, err
	}
	in := newInit(proc, socket{conn})
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	if err := in.hello(ctx); err != nil {
		for _, t := range in.Terminals() { // those before the one that failed
			_ = t.Close() // our hold only
		}
		in.Close()
		return nil, err
	}
	return in, nil
}

// dial reaches init.sock through a descriptor of its directory, for the same
// reason listen does.
func dial(path string) (*net.UnixConn, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + filepath.Base(path)
	return net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: name})
}

// maxExecs bounds what a PID 1 found again may hand over: each costs descriptors.
const maxExecs = 1024

// hello learns what runs and takes over its pipes.
func (in *Init) hello(ctx context.Context) error {
	in.mu.Lock()
	in.early = map[string]initproto.Status{}
	in.mu.Unlock()
	m, err := in.ask(ctx, initproto.Message{Op: initproto.OpHello, Hello: &initproto.Hello{Version: initproto.Version}})
	if err != nil {
		return err
	}
	defer in.greeted()
	if m.Hello == nil || m.Hello.Version != initproto.Version {
		return sandbox.Errorf(sandbox.Unavailable, "PID 1 speaks another version of the protocol").
			WithHint("remove the sandbox, or use the coop that made it")
	}
	if len(m.Hello.Execs) > maxExecs {
		return fmt.Errorf("%w: %d execs", initproto.ErrProtocol, len(m.Hello.Execs))
	}
	for _, e := range m.Hello.Execs {
		if err := in.adopt(ctx, e); err != nil {
			return err
		}
	}
	return in.adoptTerminals(ctx, m.Hello)
}

// greeted ends the time in which unknown programs may end: from here on all are
// known before they do.
func (in *Init) greeted() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.early = nil
}

// PID is PID 1 as the host counts.
func (in *Init) PID() int { return in.proc.PID }

// Lost is closed when PID 1 has ended or hung up.
func (in *Init) Lost() <-chan struct{} { return in.lost }

// Kill ends the sandbox's PID 1, and with it every process inside, and returns
// when it is gone.
func (in *Init) Kill(ctx context.Context) error {
	if err := in.proc.Kill(); err != nil {
		return err
	}
	return in.proc.Wait(ctx)
}

// Alive reports whether PID 1 still runs.
func (in *Init) Alive() bool { return in.proc.Alive() }

// Close lets go of PID 1 without ending it.
func (in *Init) Close() {
	_ = in.conn.Socket.Close() // the reader then closes lost
	<-in.lost
	_ = in.proc.Close() // a handle, not the process
}

// read hands answers to those who wait for them, until the connection ends.
func (in *Init) read() {
	defer in.hangUp()
	for {
		m, fds, err := in.conn.Read()
		if err != nil {
			return
		}
		if m.Op == initproto.OpExited {
			fdpass.CloseAll(fds)
			in.exited(m)
			continue
		}
		in.mu.Lock()
		ch := in.pending[m.ID]
		delete(in.pending, m.ID)
		in.mu.Unlock()
		if ch == nil { // nobody asked, or gave up waiting
			fdpass.CloseAll(fds)
			continue
		}
		ch <- answer{m, fds}
	}
}

func (in *Init) hangUp() {
	close(in.lost)
	in.dropSpares()
	_ = in.conn.Socket.Close() // also when PID 1 broke the protocol
	for _, t := range in.Terminals() {
		t.ring.Kick() // what is in the ring can still be read, but no more will come
	}
}

// ErrLost says that PID 1 went away before it answered.
var ErrLost = errors.New("the sandbox ended")

// call sends a request and waits for its answer.
func (in *Init) call(ctx context.Context, m initproto.Message, fds ...int) (initproto.Message, []int, error) {
	ch := make(chan answer, 1)
	in.mu.Lock()
	in.last++
	m.ID = in.last + 1 // the handshake used 1
	in.pending[m.ID] = ch
	in.mu.Unlock()
	if err := in.conn.Write(m, fds...); err != nil {
		in.forget(m.ID)
		return initproto.Message{}, nil, gone(err)
	}
	select {
	case a := <-ch:
		return a.result()
	case <-in.lost:
		in.giveUp(m.ID, ch)
		return initproto.Message{}, nil, gone(ErrLost)
	case <-ctx.Done():
		in.giveUp(m.ID, ch)
		return initproto.Message{}, nil, context.Cause(ctx)
	}
}

// result tells an answer from an error; descriptors of an error are nobody's.
func (a answer) result() (initproto.Message, []int, error) {
	if a.msg.Error != nil {
		fdpass.CloseAll(a.fds)
		return a.msg, nil, a.msg.Error
	}
	return a.msg, a.fds, nil
}

// ask is call for requests whose answers carry no descriptors. A PID 1 that
// sends some all the same must not fill our table with them.
func (in *Init) ask(ctx context.Context, m initproto.Message, fds ...int) (initproto.Message, error) {
	answer, got, err := in.call(ctx, m, fds...)
	fdpass.CloseAll(got)
	return answer, err
}

// forget takes a request out of the table. It reports whether nobody had
// answered it yet.
func (in *Init) forget(id uint64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, pending := in.pending[id]
	delete(in.pending, id)
	return pending
}

// giveUp stops waiting. An answer that is already on its way may hold
// descriptors.
func (in *Init) giveUp(id uint64, ch chan answer) {
	if !in.forget(id) {
		fdpass.CloseAll((<-ch).fds)
	}
}

func gone(err error) error {
	return sandbox.Errorf(sandbox.Unavailable, "%w", err).WithHint("start it again with coop start")
}

// Open opens a file as the sandbox sees it.
func (in *Init) Open(ctx context.Context, path string, flags int, mode uint32) (*os.File, error) {
	_, fds, err := in.call(ctx, initproto.Message{Op: initproto.OpOpen, Open: &initproto.Open{Path: path, Flags: flags, Mode: mode}})
	if err != nil {
		return nil, err
	}
	if len(fds) != 1 {
		fdpass.CloseAll(fds)
		return nil, initproto.ErrProtocol
	}
	return os.NewFile(uintptr(fds[0]), path), nil
}

// Kept gives what PID 1 was told to keep at set-up.
func (in *Init) Kept(ctx context.Context) (*os.File, error) {
	_, fds, err := in.call(ctx, initproto.Message{Op: initproto.OpOpen, Open: &initproto.Open{Kept: true}})
	if err != nil {
		return nil, err
	}
	if len(fds) != 1 {
		fdpass.CloseAll(fds)
		return nil, initproto.ErrProtocol
	}
	return os.NewFile(uintptr(fds[0]), "kept"), nil
}

// Attach puts a detached mount into the running sandbox.
func (in *Init) Attach(ctx context.Context, mnt *os.File, target string, readOnly bool) error {
	m := initproto.Message{Op: initproto.OpAttach, Attach: &initproto.Mount{Target: target, ReadOnly: readOnly}}
	_, err := in.ask(ctx, m, int(mnt.Fd()))
	return err
}

// Processes lists what runs inside.
func (in *Init) Processes(ctx context.Context) ([]initproto.Process, error) {
	m, err := in.ask(ctx, initproto.Message{Op: initproto.OpProcesses})
	return m.Processes, err
}

// Signal reaches one process by the number it has inside.
func (in *Init) Signal(ctx context.Context, pid, signal int) error {
	_, err := in.ask(ctx, initproto.Message{Op: initproto.OpSignal, PID: pid, Signal: signal})
	return err
}

// Terminate ends every program: SIGTERM, and SIGKILL after the grace period.
func (in *Init) Terminate(ctx context.Context, grace time.Duration) error {
	m := initproto.Message{Op: initproto.OpTerminate, Terminate: &initproto.Terminate{GraceMs: grace.Milliseconds()}}
	_, err := in.ask(ctx, m)
	return err
}
