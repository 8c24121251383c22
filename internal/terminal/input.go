package terminal

import (
	"errors"

	"github.com/coop-dev/coop/internal/terminal/filter"
)

// Write is what the client types. Input of several clients merges piece by
// piece. ErrFull: the program does not read, and the rest was dropped.
func (c *Client) Write(p []byte) error {
	if c.o.ReadOnly {
		return ErrReadOnly
	}
	c.t.mu.Lock()
	moved := c.active() && c.cols > 0
	c.t.mu.Unlock()
	if moved {
		c.t.fit()
	}
	if c.filter != nil {
		return c.filter.Write(p)
	}
	return c.t.enter(p)
}

// newFilter gives web clients of terminal 0 their filter.
func (t *Terminal) newFilter(c *Client) {
	if c.o.Web && t.cfg.Number == 0 && !c.o.ReadOnly {
		c.filter = filter.New(filter.Settings{Debounce: t.cfg.CtrlCDebounce, Block: t.cfg.Block}, t.enter)
	}
}

func (c *Client) closeFilter() {
	if c.filter != nil {
		c.filter.Close()
	}
}

// enter writes input as long as the program takes any. When nothing runs there
// is nobody to type for: it is not kept for the next program.
func (t *Terminal) enter(p []byte) error {
	t.input.Lock()
	defer t.input.Unlock()
	t.mu.Lock()
	running := t.state.running
	t.mu.Unlock()
	if !running {
		return nil
	}
	if t.cfg.Activity != nil {
		t.cfg.Activity()
	}
	for len(p) > 0 {
		n, err := t.cfg.Pty.Write(p)
		p = p[n:]
		if err != nil && (n == 0 || !errors.Is(err, ErrFull)) {
			return err
		}
	}
	return nil
}
