package terminal

import (
	"errors"
	"io"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if daemonChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

// fakePty is what PID 1 keeps of a terminal: a ring that outlives daemons.
type fakePty struct {
	mu     sync.Mutex
	change *sync.Cond
	stream string
	bytes  []byte // from acked on
	acked  uint64
	limit  int  // how many a program may be ahead
	ended  bool // the program
	closed bool
	sizes  [][2]int
	input  []byte
	full   bool // it does not read its input
}

func newFakePty() *fakePty {
	p := &fakePty{stream: "life-1", limit: 1 << 20}
	p.change = sync.NewCond(&p.mu)
	return p
}

// print is the program. It waits as PID 1 would let it.
func (p *fakePty) print(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		for len(p.bytes) >= p.limit {
			p.change.Wait()
		}
		n := min(len(b), p.limit-len(p.bytes))
		p.bytes = append(p.bytes, b[:n]...)
		b = b[n:]
		p.change.Broadcast()
	}
}

// exit is the end of the program.
func (p *fakePty) exit() { p.set(func() { p.ended = true }) }

func (p *fakePty) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.change.Broadcast()
}

// await waits until f holds.
func (p *fakePty) await(f func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !f() {
		p.change.Wait()
	}
}

func (p *fakePty) ReadAt(b []byte, off uint64) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.closed:
			return 0, errors.New("closed")
		case off < p.acked:
			return 0, errors.New("these bytes are gone")
		case off-p.acked < uint64(len(p.bytes)):
			return copy(b, p.bytes[off-p.acked:]), nil
		case p.ended:
			return 0, io.EOF
		}
		p.change.Wait()
	}
}

func (p *fakePty) Ack(off uint64) {
	p.set(func() {
		if off > p.acked {
			p.bytes = append([]byte(nil), p.bytes[off-p.acked:]...)
			p.acked = off
		}
	})
}

func (p *fakePty) Write(b []byte) (n int, err error) {
	p.set(func() {
		if p.full {
			err = ErrFull
			return
		}
		p.input = append(p.input, b...)
		n = len(b)
	})
	return n, err
}

func (p *fakePty) Resize(cols, rows int) error {
	p.set(func() { p.sizes = append(p.sizes, [2]int{cols, rows}) })
	return nil
}

func (p *fakePty) Stream() string { return p.stream }

func (p *fakePty) Close() error {
	p.set(func() { p.closed = true })
	return nil
}

func open(t *testing.T, p Pty, change ...func(*Config)) *Terminal {
	t.Helper()
	cfg := Config{Role: RoleAgent, Dir: t.TempDir(), Pty: p, Cols: 80, Rows: 24}
	for _, f := range change {
		f(&cfg)
	}
	term, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { term.Close("test ends") })
	if cfg.PID == 0 {
		term.Started("sh", 7)
	}
	return term
}
