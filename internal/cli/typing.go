package cli

import (
	"context"
	"sync"
	"time"
)

// typedChunk is how much one read of the keyboard may bring.
const typedChunk = 16 << 10

// read reads the keyboard for as long as the view lasts. A read that is under
// way cannot be interrupted: what it brings after the end is lost.
func (v *view) read(ctx context.Context, typed chan<- []byte) {
	for {
		buf := make([]byte, typedChunk)
		n, err := v.tty.in.Read(buf)
		if err != nil {
			v.tell(event{end: &outcome{err: errInterrupted}}) // the terminal is gone
			return
		}
		select {
		case typed <- buf[:n]:
		case <-ctx.Done():
			return
		}
	}
}

// press takes the detach key out of what is typed and gives the rest to send.
func (v *view) press(ctx context.Context, typed <-chan []byte) {
	scanner := &keyScanner{keys: v.keys}
	for {
		var late <-chan time.Time
		if wait := scanner.wait(); wait > 0 {
			late = time.After(wait)
		}
		select {
		case p := <-typed:
			pass, detached := scanner.scan(p)
			v.outbox.put(pass)
			if detached || v.readOnly && interrupts(pass) {
				v.detach()
				return
			}
		case <-late:
			v.outbox.put(scanner.timeout())
		case <-ctx.Done():
			return
		}
	}
}

// partingTime is how long a daemon may take for what was typed before the key.
const partingTime = 500 * time.Millisecond

// detach leaves after the last input has been sent.
func (v *view) detach() {
	said := make(chan struct{})
	v.guard(func() {
		defer close(said)
		if !v.readOnly {
			v.outbox.drain()
		}
		if stream := v.present(); stream != nil {
			_ = stream.Detach() // a daemon that is gone has been left, too
		}
	})
	select {
	case <-said:
	case <-time.After(partingTime):
	}
	v.tell(event{end: &outcome{detached: true}})
}

// interrupts: ctrl-c goes to the program, but for a viewer that may not type it
// is the way out that everybody tries.
func interrupts(p []byte) bool {
	for _, b := range p {
		if b == 0x03 {
			return true
		}
	}
	return false
}

// outboxSize bounds what waits for a daemon that takes no input, or is not
// there just now. When it is full the keyboard waits.
const outboxSize = 1 << 20

// outbox holds input between the keyboard and the present stream.
type outbox struct {
	mu     sync.Mutex
	change *sync.Cond
	data   []byte
	busy   bool // some was taken and is being sent
	closed bool
}

func (o *outbox) init() { o.change = sync.NewCond(&o.mu) }

func (o *outbox) put(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.data) >= outboxSize && !o.closed {
		o.change.Wait()
	}
	o.data = append(o.data, p...)
	o.change.Broadcast()
}

// drain waits until everything was sent.
func (o *outbox) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for (len(o.data) > 0 || o.busy) && !o.closed {
		o.change.Wait()
	}
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.change.Broadcast()
}

// sendTo sends until the stream fails or ctx is done. What could not be sent is
// for the next stream. What was sent to a daemon that died before it read it is
// lost.
func (o *outbox) sendTo(ctx context.Context, stream viewStream) {
	defer context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.change.Broadcast()
	})()
	for {
		p := o.take(ctx)
		if p == nil {
			return
		}
		n, err := stream.WriteStdin(p)
		o.sent(p[n:])
		if err != nil {
			return // who reads the stream sees it too
		}
	}
}

// take waits for input; nil means that nobody wants it any more.
func (o *outbox) take(ctx context.Context) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.data) == 0 {
		if ctx.Err() != nil || o.closed {
			return nil
		}
		o.change.Wait()
	}
	if ctx.Err() != nil || o.closed {
		return nil
	}
	p := o.data
	o.data, o.busy = nil, true
	o.change.Broadcast()
	return p
}

func (o *outbox) sent(rest []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
	o.data = append(rest[:len(rest):len(rest)], o.data...)
	o.change.Broadcast()
}
