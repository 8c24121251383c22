package terminal

import (
	"fmt"
	"time"
)

// retryAfter is how often a full disk is looked at again. Only then is there a
// timer at all.
const retryAfter = time.Second

// save puts an item into the log and acknowledges it. While the log cannot be
// written items wait in memory and are not acknowledged: PID 1 keeps them too,
// and lets the program wait when it has a megabyte of them, so nothing is lost
// if the daemon dies meanwhile. The caller holds storing.
func (t *Terminal) save(it item) {
	if len(t.unsaved) > 0 {
		t.keepUnsaved(it)
		return
	}
	if t.store.Full() {
		// Failing is no harm yet: the segment grows past its size, and the next
		// item tries again. A disk that is really full fails the append too.
		if err := t.turnOver(); err != nil {
			t.log.Debug("terminal log not turned over", "err", err)
		}
	}
	rest, err := t.write(it)
	if err != nil {
		t.keepUnsaved(rest)
		t.degrade(err)
		return
	}
	t.acknowledge(it)
}

func (t *Terminal) keepUnsaved(it item) {
	t.unsaved = append(t.unsaved, it)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.unsaved += len(it.data)
}

// write stores one item. On an error it returns what is left of it.
func (t *Terminal) write(it item) (rest item, err error) {
	if it.event.Kind != 0 {
		return it, t.store.Note(it.event)
	}
	n, err := t.store.Append(it.data)
	t.stored += uint64(max(n, 0))
	if err != nil {
		return item{data: it.data[max(n, 0):]}, err
	}
	return item{}, nil
}

func (t *Terminal) acknowledge(it item) {
	if it.event.Kind == 0 {
		t.cfg.Pty.Ack(t.stored)
	}
}

// turnOver begins another segment. The screen has to be where the log ends.
func (t *Terminal) turnOver() error {
	t.catchUp()
	t.drawing.Lock()
	defer t.drawing.Unlock()
	t.mu.Lock()
	s := t.start(t.stored)
	t.mu.Unlock()
	return t.store.Begin(s)
}

// degrade tells once that the log cannot be written and arranges another try.
func (t *Terminal) degrade(cause error) {
	cause = fmt.Errorf("terminal %d: log not written: %w", t.cfg.Number, cause)
	t.log.Error("terminal log not written; output is kept in memory and the program will have to wait", "err", cause)
	t.mu.Lock()
	t.state.degraded = cause.Error()
	t.tell(controlDegraded(cause.Error()))
	t.mu.Unlock()
	if t.cfg.Degraded != nil {
		t.cfg.Degraded(cause)
	}
	t.retry = time.AfterFunc(retryAfter, t.saveAgain)
}

// saveAgain stores what is left, in order.
func (t *Terminal) saveAgain() {
	t.storing.Lock()
	defer t.storing.Unlock()
	select {
	case <-t.closing:
		return
	default:
	}
	if err := t.saveLeft(); err != nil {
		t.retry = time.AfterFunc(retryAfter, t.saveAgain)
		return
	}
	t.log.Info("terminal log written again")
	t.mu.Lock()
	t.state.degraded, t.state.unsaved = "", 0
	t.tell(controlDegraded(""))
	for w := range t.watchers {
		wake(w)
	}
	t.mu.Unlock()
	if t.cfg.Degraded != nil {
		t.cfg.Degraded(nil)
	}
	wake(t.room)
}

func (t *Terminal) saveLeft() error {
	for len(t.unsaved) > 0 {
		rest, err := t.write(t.unsaved[0])
		t.acknowledge(t.unsaved[0]) // the part that was written, too
		if err != nil {
			t.unsaved[0] = rest
			return err
		}
		t.unsaved = t.unsaved[1:]
	}
	t.unsaved = nil
	return nil
}
