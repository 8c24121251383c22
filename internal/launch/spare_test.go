package launch

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/memfd"
	"github.com/coop-dev/coop/internal/linux/stub"
)

// starter is a PID 1 that starts real stubs, and notes what else it is asked.
type starter struct {
	peer
	mu    sync.Mutex
	kept  map[string][]int // by exec: what PID 1 keeps
	other chan initproto.Message
	pids  chan int // of the stubs, in order
}

// sparing gives a daemon's hold that may have spares at once, and its PID 1.
func sparing(t *testing.T) (*Init, *starter) {
	t.Helper()
	if !stub.Supported {
		t.Skip("no stub for this machine")
	}
	in, p := connected(t)
	in.released = sparesAfter
	s := &starter{peer: p, kept: map[string][]int{}, other: make(chan initproto.Message, 100), pids: make(chan int, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve()
	}()
	t.Cleanup(func() {
		p.Socket.Close()
		in.Close()
		<-done
	})
	return in, s
}

func (s *starter) serve() {
	for {
		m, fds, err := s.Read()
		if err != nil {
			break
		}
		if m.Op == initproto.OpSpare {
			s.start(m, fds)
			continue
		}
		fdpass.CloseAll(fds)
		switch m.Op {
		case initproto.OpUsed:
			continue
		case initproto.OpAck:
			s.release(m.Exec)
		}
		s.other <- m
		if m.Op == initproto.OpSpawn {
			_ = s.Write(initproto.Message{ID: m.ID, Op: m.Op, PID: 42}) // the test may be over
		}
	}
	for id := range s.kept {
		s.release(id)
	}
}

func (s *starter) release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fdpass.CloseAll(s.kept[id])
	delete(s.kept, id)
}

func (s *starter) start(m initproto.Message, fds []int) {
	program, err := memfd.Program(stub.Name, stub.Image())
	if err != nil || len(fds) != 7 {
		s.t.Error(fds, err)
		return
	}
	defer program.Close()
	file := "/proc/self/fd/" + strconv.Itoa(int(program.Fd()))
	pid, err := syscall.ForkExec(file, []string{stub.Name}, &syscall.ProcAttr{
		Files: []uintptr{uintptr(fds[2]), uintptr(fds[2]), uintptr(fds[3]), stub.Channel: uintptr(fds[0]), stub.Report: uintptr(fds[1])},
	})
	if err != nil {
		s.t.Error(err)
		return
	}
	fdpass.CloseAll(fds[:4])
	s.mu.Lock()
	s.kept[m.Exec] = fds[4:]
	s.mu.Unlock()
	s.pids <- pid
	go func() { // the end is told as PID 1 tells it
		var ws syscall.WaitStatus
		for {
			if _, err := syscall.Wait4(pid, &ws, 0, nil); err != syscall.EINTR {
				break
			}
		}
		code := ws.ExitStatus()
		if ws.Signaled() {
			code = 128 + int(ws.Signal())
		}
		_ = s.Write(initproto.Message{Op: initproto.OpExited, Exec: m.Exec, Status: &initproto.Status{Code: code}}) // the test may be over
	}()
	_ = s.Write(initproto.Message{ID: m.ID, Op: m.Op, PID: pid}) // the same
}

// next is the next request that was not for a spare.
func (s *starter) next(t *testing.T, op initproto.Op) initproto.Message {
	t.Helper()
	m := <-s.other
	if m.Op != op {
		t.Fatalf("%+v, want %s", m, op)
	}
	return m
}

// ready returns when all spares wait. A release may be about to ask for one.
func ready(t *testing.T, in *Init) {
	t.Helper()
	eventually(t, "spares", func() bool {
		in.prepare()
		in.mu.Lock()
		defer in.mu.Unlock()
		return len(in.spares) == spares && !in.preparing
	})
}

func waiting(in *Init) []*spare {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.spares)
}

// eventually is for what other goroutines are about to do.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("in vain: ", what)
		}
	}
}

func shell(script string) initproto.Spawn {
	return initproto.Spawn{
		Exec: "ordinary", Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/no/such::/bin"}, Dir: "/", User: "root", Note: "noted",
	}
}

func TestSpareBecomesTheProgram(t *testing.T) {
	in, s := sparing(t)
	ready(t, in)
	full := fds(t)
	for range 20 {
		e, err := in.Spawn(t.Context(), shell(`echo "$HOME"; exit 3`))
		if err != nil {
			t.Fatal(err)
		}
		if pid := <-s.pids; e.PID != pid || e.ID == "ordinary" || e.Note != "noted" || len(in.Execs()) != 1 {
			t.Fatalf("%+v", e)
		}
		if status, err := e.Wait(t.Context()); err != nil || status.Code != 3 {
			t.Errorf("%+v, %v", status, err)
		}
		if b, err := io.ReadAll(e.Stdout); err != nil || string(b) != "/root\n" {
			t.Errorf("%q, %v", b, err)
		}
		s.mu.Lock()
		note := make([]byte, 100)
		n, err := unix.Read(s.kept[e.ID][0], note)
		s.mu.Unlock()
		if err != nil || string(note[:n]) != "noted" {
			t.Errorf("PID 1 finds the note %q, %v", note[:n], err)
		}
		e.Release()
		if m := s.next(t, initproto.OpAck); m.Exec != e.ID {
			t.Errorf("%+v", m)
		}
		ready(t, in)
	}
	eventually(t, "no more descriptors than before", func() bool { return fds(t) <= full })
}

// TestNotForASpare: anything out of the ordinary is PID 1's, and so is what a
// stub fails at: it finds the words for it.
func TestNotForASpare(t *testing.T) {
	edit := func(f func(*initproto.Spawn)) initproto.Spawn {
		x := shell("true")
		f(&x)
		return x
	}
	for name, x := range map[string]initproto.Spawn{
		"input":           edit(func(x *initproto.Spawn) { x.Stdin = true }),
		"another user":    edit(func(x *initproto.Spawn) { x.User = "1000" }),
		"another group":   edit(func(x *initproto.Spawn) { x.User = "0:5" }),
		"no absolute dir": edit(func(x *initproto.Spawn) { x.Dir = "tmp" }),
		"no note":         edit(func(x *initproto.Spawn) { x.Note = "" }),
		"a long note":     edit(func(x *initproto.Spawn) { x.Note = string(make([]byte, 5000)) }),
		"a NUL":           edit(func(x *initproto.Spawn) { x.Argv[1] = "\x00" }),
	} {
		if _, ok := becoming(x); ok {
			t.Errorf("%s goes to a spare", name)
		}
	}
	in, s := sparing(t)
	for name, x := range map[string]initproto.Spawn{
		"no such program":   edit(func(x *initproto.Spawn) { x.Argv = []string{"no-such-program"} }),
		"an empty name":     edit(func(x *initproto.Spawn) { x.Argv = []string{""} }),
		"no such directory": edit(func(x *initproto.Spawn) { x.Dir = "/no/such" }),
		"not executable":    edit(func(x *initproto.Spawn) { x.Argv = []string{"/etc/passwd"} }),
	} {
		ready(t, in)
		e, err := in.Spawn(t.Context(), x)
		if err != nil || e.ID != "ordinary" || e.PID != 42 {
			t.Fatalf("%s: %+v, %v", name, e, err)
		}
		var seen []initproto.Op // the ordinary start, and the end of the stub that failed
		for range 3 {
			seen = append(seen, (<-s.other).Op)
		}
		if len(in.Execs()) != 1 {
			t.Errorf("%s: %v, %d execs", name, seen, len(in.Execs()))
		}
		in.leave(e)
		e.closePipes()
	}
}

// TestSpareKilled: whoever kills one from inside gains nothing.
func TestSpareKilled(t *testing.T) {
	in, s := sparing(t)
	ready(t, in)
	list := waiting(in)
	for range spares {
		if err := syscall.Kill(<-s.pids, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	for _, sp := range list {
		<-sp.became // noticed, and about to be forgotten
	}
	if e, err := in.Spawn(t.Context(), shell("true")); err != nil || e.ID != "ordinary" {
		t.Fatalf("%+v, %v", e, err)
	}
	for m := range s.other {
		if m.Op == initproto.OpSpawn {
			break
		}
	}
}

// TestSpareStopped: it counts as a program that was stopped.
func TestSpareStopped(t *testing.T) {
	in, s := sparing(t)
	ready(t, in)
	pid := <-s.pids
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	e, err := in.Spawn(t.Context(), shell("exit 5"))
	if err != nil || e.PID != pid {
		t.Fatalf("%+v, %v", e, err)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if status, err := e.Wait(t.Context()); err != nil || status.Code != 5 {
		t.Errorf("%+v, %v", status, err)
	}
	e.Release()
}

// TestSpareGivenUp: a program nobody waits for is killed, wherever it has got to.
func TestSpareGivenUp(t *testing.T) {
	in, s := sparing(t)
	ready(t, in)
	pid := <-s.pids
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.Spawn(ctx, shell("true")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if m := s.next(t, initproto.OpKill); m.Exec == "" {
		t.Errorf("%+v", m)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	s.next(t, initproto.OpAck)
}

// TestSparesEndWithTheConnection: a daemon that leaves keeps nothing of them.
func TestSparesEndWithTheConnection(t *testing.T) {
	in, s := sparing(t)
	before := fds(t)
	ready(t, in)
	watched := waiting(in)
	if err := unix.Shutdown(s.Socket.(closer).FD, unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	<-in.Lost()
	for _, sp := range watched {
		<-sp.became
	}
	in.Close()
	if in.wantsSpare() {
		t.Error("it wants more")
	}
	if _, err := in.Spawn(t.Context(), shell("true")); err == nil {
		t.Error("something started")
	}
	eventually(t, "no more descriptors than before", func() bool { return fds(t) <= before })
}

// TestNoSpareForTheFirst: most sandboxes that live shortly run one program.
func TestNoSpareForTheFirst(t *testing.T) {
	in, p := connected(t)
	in.prepare() // would ask, and wait for an answer
	for i := range sparesAfter {
		if in.wantsSpare() {
			t.Errorf("after %d programs", i)
		}
		e := &Exec{ID: "x", in: in}
		go e.Release()
		p.request(initproto.OpAck)
	}
	if stub.Supported {
		p.request(initproto.OpSpare)
	}
}

// TestManyAtOnce: more than there are spares.
func TestManyAtOnce(t *testing.T) {
	in, s := sparing(t)
	ready(t, in)
	go func() {
		for range s.other {
		}
	}()
	const n = 30
	var ordinary int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			x := shell("true")
			x.Exec = strconv.Itoa(i)
			e, err := in.Spawn(t.Context(), x)
			if err != nil {
				t.Error(err)
				return
			}
			if e.PID == 42 {
				mu.Lock()
				ordinary++
				mu.Unlock()
				in.leave(e)
				e.closePipes()
				return
			}
			if status, err := e.Wait(t.Context()); err != nil || status.Code != 0 {
				t.Errorf("%+v, %v", status, err)
			}
			e.Release()
		})
	}
	wg.Wait()
	if ordinary < 1 || ordinary > n-spares {
		t.Errorf("%d of %d the ordinary way", ordinary, n)
	}
}
