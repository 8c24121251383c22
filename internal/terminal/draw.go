package terminal

import (
	"github.com/coop-dev/coop/internal/terminal/screen"
	"github.com/coop-dev/coop/internal/terminal/store"
)

// publish hands an item to the screen's backlog and to every client. The caller
// holds storing, so items are published in the order in which they are stored.
func (t *Terminal) publish(it item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.backlog = append(t.backlog, it)
	t.behind += len(it.data)
	if it.event.Kind == store.Reset {
		t.epoch++
	}
	if it.event.Kind == store.Resize {
		t.state.cols, t.state.rows = it.event.Cols, it.event.Rows
	}
	for c := range t.clients {
		c.push(it)
	}
	for w := range t.watchers {
		wake(w)
	}
	if !t.painting {
		t.painting = true
		t.work.Go(t.paint)
	}
}

// paint draws the backlog and ends: an idle terminal has no painter.
//
// Drawing happens beside reading, since a flood is stored and sent faster than
// it is drawn. An item leaves the backlog while drawing is held, so whoever
// holds drawing sees a screen that the backlog continues exactly.
func (t *Terminal) paint() {
	for t.paintOne() {
		wake(t.room)
	}
	wake(t.room)
}

func (t *Terminal) paintOne() bool {
	t.drawing.Lock()
	defer t.drawing.Unlock()
	if t.drawNext() {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.backlog) > 0 {
		return true // it came this moment
	}
	t.painting, t.backlog = false, nil
	wake(t.drawn)
	return false
}

// drawNext draws one item of the backlog, if there is one. The caller holds
// drawing.
func (t *Terminal) drawNext() bool {
	t.mu.Lock()
	if len(t.backlog) == 0 {
		t.mu.Unlock()
		return false
	}
	it := t.backlog[0]
	t.mu.Unlock()

	t.draw(it)
	title := t.screen.Title()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.backlog[0] = item{} // the clients may be done with it
	t.backlog = t.backlog[1:]
	t.behind -= len(it.data)
	t.state.title = title
	return true
}

// drawWaiting draws what waits now. Whoever is shown the screen afterwards does
// not get output of the past as it was, with whatever a viewer's terminal would
// do about it. The caller holds drawing.
func (t *Terminal) drawWaiting() {
	t.mu.Lock()
	n := len(t.backlog)
	t.mu.Unlock()
	for range n {
		t.drawNext()
	}
}

// draw applies one item to the screen. The caller holds drawing.
func (t *Terminal) draw(it item) {
	switch it.event.Kind {
	case 0:
		t.screen.Write(it.data)
		t.blank = false
	case store.Resize:
		t.screen.Resize(it.event.Cols, it.event.Rows)
	case store.Reset:
		t.screen, t.blank = screen.New(it.event.Cols, it.event.Rows), true
	}
}

// catchUp returns when nothing is left to draw. The caller holds storing, so
// nothing is added meanwhile.
func (t *Terminal) catchUp() {
	for {
		t.mu.Lock()
		done := !t.painting
		t.mu.Unlock()
		if done {
			return
		}
		<-t.drawn
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
