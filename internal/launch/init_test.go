package launch

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/pidfd"
	"github.com/coop-dev/coop/internal/sandbox"
)

// peer is the other end of a connection: a PID 1 played by the test.
type peer struct {
	*initproto.Conn
	t *testing.T
}

// connected gives a daemon's hold whose PID 1 is the test. The process behind it
// is this one, which nobody kills.
func connected(t *testing.T) (*Init, peer) {
	t.Helper()
	a, b, err := fdpass.Pair()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSocket(a)
	if err != nil {
		t.Fatal(err)
	}
	proc, err := pidfd.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	in := newInit(proc, s)
	var once sync.Once
	p := peer{&initproto.Conn{Socket: closer{fdpass.Socket{FD: b}, &once}, Max: initproto.MaxToInit}, t}
	t.Cleanup(func() {
		p.Socket.Close()
		in.Close()
	})
	return in, p
}

// closer closes once.
type closer struct {
	fdpass.Socket
	once *sync.Once
}

func (c closer) Close() (err error) {
	c.once.Do(func() { err = c.Socket.Close() })
	return err
}

// request waits for one, whose descriptors it closes.
func (p peer) request(op initproto.Op) initproto.Message {
	p.t.Helper()
	m, fds, err := p.Read()
	fdpass.CloseAll(fds)
	if err != nil || m.Op != op {
		p.t.Errorf("%+v, %v; want %s", m, err, op)
	}
	return m
}

func (p peer) send(m initproto.Message, fds ...int) {
	p.t.Helper()
	if err := p.Write(m, fds...); err != nil {
		p.t.Error(err)
	}
}

// null is a descriptor that is closed at the end.
func null(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func TestAnswersFindTheirQuestions(t *testing.T) {
	in, p := connected(t)
	const n = 20
	go func() { // answers in the wrong order
		var asked []initproto.Message
		for range n {
			asked = append(asked, p.request(initproto.OpSignal))
		}
		for i := range asked {
			m := asked[n-1-i]
			m.Error = &initproto.Error{Step: "signal", Errno: m.Signal}
			p.send(m)
		}
	}()
	var wg sync.WaitGroup
	for i := 1; i <= n; i++ {
		wg.Go(func() {
			if err := in.Signal(t.Context(), 2, i); !errors.Is(err, syscall.Errno(i)) {
				t.Errorf("signal %d got the answer %v", i, err)
			}
		})
	}
	wg.Wait()
}

func TestOpenCarriesADescriptor(t *testing.T) {
	in, p := connected(t)
	for _, given := range []int{1, 0, 2} {
		go func() {
			m := p.request(initproto.OpOpen)
			var send []int
			for range given {
				send = append(send, null(t))
			}
			p.send(initproto.Message{ID: m.ID, Op: m.Op}, send...)
		}()
		f, err := in.Open(t.Context(), "/x", os.O_RDONLY, 0)
		switch {
		case given == 1 && err != nil, given != 1 && !errors.Is(err, initproto.ErrProtocol):
			t.Errorf("%d descriptors: %v", given, err)
		case err == nil:
			f.Close()
		}
	}
}

// TestHostileAnswers: what nobody asked for is dropped, and its descriptors.
func TestHostileAnswers(t *testing.T) {
	in, p := connected(t)
	give := null(t)
	before := fds(t)
	p.send(initproto.Message{ID: 99, Op: initproto.OpOpen}, give, give)
	p.send(initproto.Message{Op: initproto.OpExited, Exec: "nobody", Status: &initproto.Status{}}, give)
	p.send(initproto.Message{Op: initproto.OpExited}, give)
	p.send(initproto.Message{ID: 1, Op: initproto.OpReady, Ready: &initproto.Ready{}})
	go func() {
		m := p.request(initproto.OpOpen)
		m.Open, m.Error = nil, &initproto.Error{Step: "open", Errno: int(syscall.ENOENT)}
		p.send(m, give, give, give) // an error does not carry any
	}()
	if _, err := in.Open(t.Context(), "/x", 0, 0); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
	if after := fds(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// TestBrokenProtocolHangsUp: a PID 1 that does not keep to it loses its
// connection and nothing else.
func TestBrokenProtocolHangsUp(t *testing.T) {
	for name, bytes := range map[string][]byte{
		"garbage":  []byte("\x00\x00\x00\x04oops"),
		"too much": {255, 0, 0, 0},
	} {
		in, p := connected(t)
		if err := p.Socket.Send(bytes, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-in.Lost():
		case <-t.Context().Done():
			t.Fatalf("%s: still connected", name)
		}
		if _, err := in.Processes(t.Context()); sandbox.CodeOf(err) != sandbox.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCallsEndWithTheConnection(t *testing.T) {
	in, p := connected(t)
	go func() {
		p.request(initproto.OpProcesses)
		p.Socket.Close()
	}()
	if _, err := in.Processes(t.Context()); !errors.Is(err, ErrLost) || sandbox.CodeOf(err) != sandbox.Unavailable {
		t.Errorf("%v", err)
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	in, p := connected(t)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := make(chan initproto.Message, 1)
	go func() {
		asked <- p.request(initproto.OpTerminate)
		cancel(cause)
	}()
	if err := in.Terminate(ctx, 1500*time.Millisecond); !errors.Is(err, cause) {
		t.Error(err)
	}
	late := <-asked
	if late.Terminate == nil || late.Terminate.GraceMs != 1500 {
		t.Errorf("%+v", late)
	}
	give := null(t)
	before := fds(t)
	p.send(late, give) // too late: dropped, and the next one gets its own
	go func() { p.send(p.request(initproto.OpProcesses)) }()
	if _, err := in.Processes(t.Context()); err != nil {
		t.Error(err)
	}
	if after := fds(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// TestSpawn: pipes, an end that is told before the start, and the release.
func TestSpawn(t *testing.T) {
	in, p := connected(t)
	in.released = -2 // no spares here: see TestNoSpareForTheFirst
	before := fds(t)
	for _, stdin := range []bool{true, false} {
		go func() {
			m, given, err := p.Read()
			want := 4
			if stdin {
				want = 6
			}
			if err != nil || m.Op != initproto.OpSpawn || len(given) != want {
				t.Errorf("%+v, %v, %v", m, given, err)
				return
			}
			out := given[want/2-2]
			_, _ = unix.Write(out, []byte("said")) // read below
			fdpass.CloseAll(given)
			p.send(initproto.Message{Op: initproto.OpExited, Exec: m.Spawn.Exec, Status: &initproto.Status{Code: 7}})
			p.send(initproto.Message{ID: m.ID, Op: m.Op, PID: 42})
		}()
		e, err := in.Spawn(t.Context(), initproto.Spawn{Exec: "e", Argv: []string{"x"}, Stdin: stdin, Note: "n"})
		if err != nil {
			t.Fatal(err)
		}
		if e.PID != 42 || e.ID != "e" || e.Note != "n" || (e.Stdin != nil) != stdin || len(in.Execs()) != 1 {
			t.Errorf("%+v", e)
		}
		if s, err := e.Wait(t.Context()); err != nil || s.Code != 7 {
			t.Errorf("%+v, %v", s, err)
		}
		<-e.Done()
		if b, err := io.ReadAll(e.Stdout); err != nil || string(b) != "said" {
			t.Errorf("%q, %v", b, err)
		}
		e.Release()
		if m := p.request(initproto.OpAck); m.Exec != "e" || m.ID != 0 {
			t.Errorf("%+v", m)
		}
		if len(in.Execs()) != 0 {
			t.Errorf("%v", in.Execs())
		}
	}
	if after := fds(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestSpawnFails(t *testing.T) {
	in, p := connected(t)
	before := fds(t)
	go func() {
		m := p.request(initproto.OpSpawn)
		p.send(initproto.Message{ID: m.ID, Op: m.Op, Error: &initproto.Error{Step: "exec", Path: "x", Errno: int(syscall.ENOENT)}})
	}()
	if _, err := in.Spawn(t.Context(), initproto.Spawn{Exec: "e", Argv: []string{"x"}, Stdin: true}); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
	if after := fds(t); after > before || len(in.Execs()) != 0 {
		t.Errorf("%d descriptors before, %d after, %d execs", before, after, len(in.Execs()))
	}
}

// TestSpawnGivenUp: a program nobody waits for any more is killed.
func TestSpawnGivenUp(t *testing.T) {
	in, p := connected(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		p.request(initproto.OpSpawn)
		cancel()
	}()
	if _, err := in.Spawn(ctx, initproto.Spawn{Exec: "e", Argv: []string{"x"}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if m := p.request(initproto.OpKill); m.Exec != "e" {
		t.Errorf("%+v", m)
	}
}

func TestExecEndsWithItsSandbox(t *testing.T) {
	in, p := connected(t)
	go func() {
		m := p.request(initproto.OpSpawn)
		p.send(initproto.Message{ID: m.ID, Op: m.Op, PID: 2})
	}()
	e, err := in.Spawn(t.Context(), initproto.Spawn{Exec: "e", Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.Socket.Close()
	if _, err := e.Wait(t.Context()); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if err := e.CloseStdin(t.Context()); err != nil { // it has none
		t.Error(err)
	}
	if err := e.Kill(t.Context()); sandbox.CodeOf(err) != sandbox.Unavailable {
		t.Error(err)
	}
	e.Release()
	e.Release() // twice is once
}

// TestAdopt: what an earlier daemon left is taken over, and a PID 1 that gives
// something else is refused.
func TestAdopt(t *testing.T) {
	for name, c := range map[string]struct {
		stdin bool
		given int
		ok    bool
	}{
		"with stdin": {true, 3, true}, "without": {false, 2, true},
		"too few": {true, 2, false}, "too many": {false, 3, false}, "none": {false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			in, p := connected(t)
			give := null(t)
			before := fds(t)
			go func() {
				m := p.request(initproto.OpHello)
				x := initproto.Exec{ID: "old", PID: 3, Note: "n", Stdin: c.stdin, Status: &initproto.Status{Code: 4}}
				p.send(initproto.Message{ID: m.ID, Op: m.Op, Hello: &initproto.Hello{Version: initproto.Version, Execs: []initproto.Exec{x}}})
				m = p.request(initproto.OpAdopt)
				var send []int
				for range c.given {
					send = append(send, give)
				}
				p.send(initproto.Message{ID: m.ID, Op: m.Op}, send...)
			}()
			err := in.hello(t.Context())
			if (err == nil) != c.ok {
				t.Fatal(err)
			}
			if err != nil {
				if after := fds(t); after > before {
					t.Errorf("%d descriptors before, %d after", before, after)
				}
				return
			}
			e := in.Execs()[0]
			if s, err := e.Wait(t.Context()); err != nil || s.Code != 4 || e.Note != "n" || (e.Stdin != nil) != c.stdin {
				t.Errorf("%+v, %+v, %v", e, s, err)
			}
			e.Release()
		})
	}
}

func TestAnotherVersion(t *testing.T) {
	for _, hello := range []*initproto.Hello{nil, {Version: initproto.Version + 1}} {
		in, p := connected(t)
		go func() {
			m := p.request(initproto.OpHello)
			p.send(initproto.Message{ID: m.ID, Op: m.Op, Hello: hello})
		}()
		if err := in.hello(t.Context()); sandbox.CodeOf(err) != sandbox.Unavailable {
			t.Error(err)
		}
	}
}
