package terminal

import (
	"fmt"

	"github.com/coop-dev/coop/internal/terminal/store"
)

// The size follows the client that was active last: it typed, changed its size
// or attached. When it leaves, the one before it decides. Read-only clients see
// what there is and never decide.

func (c *Client) decidesSize() bool { return !c.o.ReadOnly && c.cols > 0 }

// Resize says that the client's window has another size.
func (c *Client) Resize(cols, rows int) error {
	if !ValidSize(cols, rows) {
		return fmt.Errorf("size %d × %d is not within %d × %d", cols, rows, MaxCols, MaxRows)
	}
	c.t.mu.Lock()
	c.cols, c.rows = cols, rows
	c.active()
	c.t.mu.Unlock()
	c.t.fit()
	return nil
}

// active notes that the client did something. It reports whether another one
// did before. The caller holds mu.
func (c *Client) active() bool {
	if c.o.ReadOnly || c.turn == c.t.turn && c.turn > 0 {
		return false
	}
	c.t.turn++
	c.turn = c.t.turn
	return true
}

// fit gives the window the size of the client that was active last.
func (t *Terminal) fit() {
	t.mu.Lock()
	var last *Client
	for c := range t.clients {
		if c.decidesSize() && (last == nil || c.turn > last.turn) {
			last = c
		}
	}
	cols, rows := 0, 0
	if last != nil {
		cols, rows = last.cols, last.rows
	}
	t.mu.Unlock()
	if last != nil {
		t.setSize(cols, rows)
	}
}

// Resize sets the size until a client is active again.
func (t *Terminal) Resize(cols, rows int) error {
	if !ValidSize(cols, rows) {
		return fmt.Errorf("size %d × %d is not within %d × %d", cols, rows, MaxCols, MaxRows)
	}
	t.setSize(cols, rows)
	return nil
}

// setSize changes the window. The log knows first, then the clients, then the
// program: what it draws for the new size comes after the change everywhere.
func (t *Terminal) setSize(cols, rows int) {
	t.sizing.Lock()
	defer t.sizing.Unlock()
	if !t.noteSize(cols, rows) {
		return
	}
	if err := t.cfg.Pty.Resize(cols, rows); err != nil {
		t.log.Debug("terminal not resized", "err", err) // nothing runs on it any more
	}
}

func (t *Terminal) noteSize(cols, rows int) bool {
	t.storing.Lock()
	defer t.storing.Unlock()
	t.mu.Lock()
	same := t.state.closed || t.state.cols == cols && t.state.rows == rows
	t.mu.Unlock()
	if same {
		return false
	}
	it := item{event: store.Event{Kind: store.Resize, Cols: cols, Rows: rows}}
	t.save(it)
	t.publish(it)
	return true
}
