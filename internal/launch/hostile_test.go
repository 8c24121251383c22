package launch

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// TestDescriptorsNobodyAskedFor: a hostile PID 1 attaches descriptors to answers
// that carry none; the daemon must not keep them, or it runs out.
func TestDescriptorsNobodyAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		op   initproto.Op
		call func(*Init) error
	}{
		"processes": {initproto.OpProcesses, func(in *Init) error { _, err := in.Processes(t.Context()); return err }},
		"signal":    {initproto.OpSignal, func(in *Init) error { return in.Signal(t.Context(), 2, 15) }},
		"terminate": {initproto.OpTerminate, func(in *Init) error { return in.Terminate(t.Context(), 0) }},
		"hello":     {initproto.OpHello, func(in *Init) error { return in.hello(t.Context()) }},
	} {
		in, p := connected(t)
		give := null(t)
		before := fds(t)
		go func() {
			m := p.request(c.op)
			m.Hello = &initproto.Hello{Version: initproto.Version}
			p.send(m, give, give, give)
		}()
		if err := c.call(in); err != nil {
			t.Error(name, err)
		}
		if after := fds(t); after > before {
			t.Errorf("%s: %d descriptors before, %d after", name, before, after)
		}
	}
}

// TestSpawnGivenUpIsAcknowledged: PID 1 keeps a program and its pipes until its
// end is acknowledged, also one whose spawn was given up.
func TestSpawnGivenUpIsAcknowledged(t *testing.T) {
	in, p := connected(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.Spawn(ctx, initproto.Spawn{Exec: "e", Argv: []string{"x"}}); err == nil {
		t.Fatal("spawned")
	}
	p.request(initproto.OpSpawn)
	p.request(initproto.OpKill)
	p.send(initproto.Message{Op: initproto.OpExited, Exec: "e", Status: &initproto.Status{Code: 137, Signal: 9}})
	acked := make(chan bool, 1)
	go func() { m, _, err := p.Read(); acked <- err == nil && m.Op == initproto.OpAck }()
	select {
	case ok := <-acked:
		if !ok {
			t.Error("something else came")
		}
	case <-time.After(time.Second):
		t.Error("its end is never acknowledged")
		p.Socket.Close()
	}
}

// answered is a socket whose Send returns when the answer has been read.
type answered struct {
	socket
	in *Init
}

func (a *answered) Send(b []byte, fds []int) error {
	err := a.socket.Send(b, fds)
	for {
		a.in.mu.Lock()
		n := len(a.in.pending)
		a.in.mu.Unlock()
		if n == 0 || err != nil {
			return err
		}
		runtime.Gosched()
	}
}

// TestAnswerAndCancelAtOnce: an answer that came just before the caller's
// patience ended must not lose its descriptors.
func TestAnswerAndCancelAtOnce(t *testing.T) {
	a, b, err := fdpass.Pair()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSocket(a)
	if err != nil {
		t.Fatal(err)
	}
	in := &Init{lost: make(chan struct{}), pending: map[uint64]chan answer{}, execs: map[string]*Exec{}}
	in.conn = &initproto.Conn{Socket: &answered{s, in}, Max: initproto.MaxFromInit}
	go in.read()
	p := peer{&initproto.Conn{Socket: fdpass.Socket{FD: b}, Max: initproto.MaxToInit}, t}
	defer func() { p.Socket.Close(); <-in.lost }()
	give := null(t)
	before := fds(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		go func() { p.send(p.request(initproto.OpOpen), give) }()
		if f, err := in.Open(ctx, "/x", 0, 0); err == nil {
			f.Close()
		}
	}
	if after := fds(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
