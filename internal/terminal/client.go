package terminal

import (
	"context"
	"io"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/terminal/filter"
	"github.com/coop-dev/coop/internal/terminal/screen"
	"github.com/coop-dev/coop/internal/terminal/store"
)

const (
	maxQueue    = 2 << 20   // bytes of output that wait for a client
	maxBatch    = 512 << 10 // bytes that it takes at once
	controlCost = 512       // what a control frame counts, so that they are bounded too
)

// ClientOptions say what a client wants.
type ClientOptions struct {
	Cols, Rows int // 0: it has no size
	ReadOnly   bool
	Web        bool // its input passes the filter on terminal 0
	Scrollback bool // older lines before the screen
}

// Client is one viewer. Next is called by one goroutine, the rest by any.
type Client struct {
	t      *Terminal
	o      ClientOptions
	filter *filter.Filter // nil: input passes as it is
	wake   chan struct{}  // holds a token after a change Next may wait for

	// Guarded by Terminal.mu.
	cols, rows int
	turn       uint64 // when it was active last
	queue      []entry
	bytes      int
	epoch      int  // Terminal.epoch when it last had everything
	lagging    bool // it missed output: only control frames are queued until it has a fresh screen
	ended      bool // nothing more will come
	gone       bool
}

type entry struct {
	data    []byte
	control *api.Control
}

// Frame is what Next gives: pieces of output, or a control message. The output
// is shared with others and must not be changed.
type Frame struct {
	Data    [][]byte
	Control *api.Control
}

// Attach adds a client. It is given the screen as it is, then everything that
// happens from exactly there on.
func (t *Terminal) Attach(o ClientOptions) (*Client, error) {
	c := &Client{t: t, o: o, wake: make(chan struct{}, 1), cols: o.Cols, rows: o.Rows}
	if !ValidSize(c.cols, c.rows) {
		c.cols, c.rows = 0, 0
	}
	t.newFilter(c)
	if c.decidesSize() {
		t.setSize(c.cols, c.rows) // first, so that the screen it gets has its size
	}
	if err := t.admit(c); err != nil {
		c.closeFilter()
		return nil, err
	}
	t.letGo()
	t.fit()
	return c, nil
}

func (t *Terminal) admit(c *Client) error {
	older := t.scrollback(c.o)
	t.drawing.Lock()
	defer t.drawing.Unlock()
	t.drawWaiting()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.closed {
		return errClosed
	}
	t.drawToSize()
	t.clients[c], c.epoch = struct{}{}, t.epoch
	if !c.o.ReadOnly {
		t.turn++
		c.turn = t.turn
	}
	c.pushControl(api.Control{Type: "attached", Terminal: new(t.info())})
	if len(older) > 0 {
		// The last lines of it are still on the viewer's screen and are cleared
		// with it: those are the ones that the screen shows again.
		c.add(entry{data: older})
	}
	if len(older) > 0 && t.blank {
		c.add(entry{data: []byte(scrollOff(t.state.rows))})
	}
	if !t.blank || len(older) > 0 {
		t.pushScreen(c, false)
	}
	t.pushBacklog(c)
	if s := &t.state; s.over && s.exit != nil {
		c.pushControl(controlExit(*s.exit))
	}
	if t.state.failed != "" {
		c.pushControl(api.Control{Type: "failed", Reason: t.state.failed})
	}
	return nil
}

// pushScreen queues what rebuilds the screen. The caller holds drawing and mu.
func (t *Terminal) pushScreen(c *Client, lagged bool) {
	cols, rows := t.screen.Size()
	c.pushControl(api.Control{Type: "screen", Cols: cols, Rows: rows, Lagged: lagged})
	c.add(entry{data: t.screen.Snapshot()})
}

// pushBacklog queues what is published and not drawn.
func (t *Terminal) pushBacklog(c *Client) {
	for _, it := range t.backlog {
		c.add(c.entry(it))
	}
}

// drawToSize draws until the screen has the size that the window has. The
// caller holds drawing and mu.
func (t *Terminal) drawToSize() {
	for len(t.backlog) > 0 {
		cols, rows := t.screen.Size()
		if cols == t.state.cols && rows == t.state.rows {
			return
		}
		it := t.backlog[0]
		t.draw(it)
		t.backlog = t.backlog[1:]
		t.behind -= len(it.data)
	}
}

// resync gives a client that missed output a fresh screen, and from there on
// everything. Frames that tell the end of the stream stay the last ones.
func (t *Terminal) resync(c *Client) {
	t.drawing.Lock()
	defer t.drawing.Unlock()
	t.drawWaiting()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.lagging {
		return
	}
	kept := c.queue
	c.queue, c.bytes, c.lagging = nil, 0, false
	last := len(kept)
	for last > 0 && final(kept[last-1]) {
		last--
	}
	for _, e := range kept[:last] {
		c.add(e)
	}
	t.drawToSize()
	if c.epoch != t.epoch {
		// It may have missed the beginning of another program. A screen says only
		// what was touched on it.
		c.add(entry{data: screen.Leave()})
		c.epoch = t.epoch
	}
	t.pushScreen(c, true)
	t.pushBacklog(c)
	for _, e := range kept[last:] {
		c.add(e)
	}
}

func final(e entry) bool { return e.control.Type == "exit" || e.control.Type == "detached" }

// push queues what was published. The caller holds mu.
func (c *Client) push(it item) {
	if c.lagging {
		return
	}
	e := c.entry(it)
	if c.bytes > 0 && c.bytes+len(e.data) > maxQueue {
		c.lag()
		return
	}
	c.add(e)
}

// lag gives the queue up, but for control frames.
func (c *Client) lag() {
	old := c.queue
	c.queue, c.bytes, c.lagging = nil, 0, true
	for _, e := range old {
		if e.control != nil {
			c.pushControl(*e.control)
		}
	}
	wake(c.wake)
}

func (c *Client) entry(it item) entry {
	switch it.event.Kind {
	case store.Resize:
		return entry{control: &api.Control{Type: "resize", Cols: it.event.Cols, Rows: it.event.Rows}}
	case store.Reset:
		return entry{data: freshStart(it.event.Cols, it.event.Rows)}
	}
	return entry{data: it.data}
}

// pushControl queues a control frame. While the client lags only the last of
// each kind is kept, and no sizes: the screen it gets has one.
func (c *Client) pushControl(control api.Control) {
	if c.lagging {
		if control.Type == "resize" || control.Type == "screen" {
			return
		}
		for i, e := range c.queue {
			if e.control.Type == control.Type {
				c.queue = append(c.queue[:i], c.queue[i+1:]...)
				c.bytes -= controlCost
				break
			}
		}
	}
	c.add(entry{control: &control})
}

func (c *Client) add(e entry) {
	c.queue = append(c.queue, e)
	c.bytes += e.cost()
	wake(c.wake)
}

func (e entry) cost() int {
	if e.control != nil {
		return controlCost
	}
	return len(e.data)
}

// Next waits for a frame. io.EOF: there are no more.
func (c *Client) Next(ctx context.Context) (Frame, error) {
	for {
		f, what := c.take()
		switch what {
		case aFrame:
			return f, nil
		case aGap:
			c.t.resync(c)
			continue
		case theEnd:
			return Frame{}, io.EOF
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return Frame{}, context.Cause(ctx)
		}
	}
}

type found int

const (
	nothing found = iota
	aFrame
	aGap
	theEnd
)

func (c *Client) take() (Frame, found) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	switch {
	case c.gone:
		return Frame{}, theEnd
	case c.lagging:
		return Frame{}, aGap
	case len(c.queue) == 0 && c.ended:
		return Frame{}, theEnd
	case len(c.queue) == 0:
		return Frame{}, nothing
	}
	defer wake(c.t.room)
	var f Frame
	taken := 0
	for _, e := range c.queue {
		if e.control != nil || taken > 0 && taken+len(e.data) > maxBatch {
			break
		}
		f.Data = append(f.Data, e.data)
		taken += len(e.data)
	}
	n := len(f.Data)
	if n == 0 {
		f.Control, n = c.queue[0].control, 1
		taken = controlCost
	}
	clear(c.queue[:n])
	c.queue, c.bytes = c.queue[n:], c.bytes-taken
	if len(c.queue) == 0 {
		c.queue = nil
	}
	return f, aFrame
}

// Tell queues a control frame for this client alone. One that is not taken yet
// is not queued twice.
func (c *Client) Tell(control api.Control) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	for _, e := range c.queue {
		if e.control != nil && e.control.Type == control.Type {
			return
		}
	}
	c.pushControl(control)
}

// Close takes the client away; the size goes to the one that was active before
// it. It may be called twice.
func (c *Client) Close() {
	c.t.mu.Lock()
	delete(c.t.clients, c)
	again := c.gone
	c.gone, c.queue, c.bytes = true, nil, 0
	wake(c.wake)
	c.t.mu.Unlock()
	if again {
		return
	}
	c.closeFilter()
	wake(c.t.room)
	c.t.fit()
}
