// Package filter stands between what a web client types and terminal 0: it
// drops repeated Ctrl+C and byte sequences that the configuration blocks.
//
// Owns the bytes of one client that may be the beginning of a blocked sequence.
// It does not know terminals or connections.
//
// Invariant: however input is cut into pieces, what passes holds no blocked
// sequence, except one whose parts came further apart than FlushAfter: a lone
// Escape key must reach the program, and is the beginning of many sequences.
package filter

import (
	"bytes"
	"sync"
	"time"
)

// FlushAfter is how long the beginning of a blocked sequence is kept back. The
// parts of one key arrive together; a person's next key comes later than this.
const FlushAfter = 50 * time.Millisecond

const interrupt = 0x03 // Ctrl+C

// Settings say what does not pass.
type Settings struct {
	Debounce time.Duration // after a Ctrl+C further ones are dropped; 0: none
	Block    [][]byte

	// Of tests; nil: time.Now and time.AfterFunc.
	Now   func() time.Time
	After func(time.Duration, func()) (stop func() bool)
}

// Filter is for one client. It may be used by any goroutine.
type Filter struct {
	settings Settings
	next     func([]byte) error

	mu     sync.Mutex
	last   time.Time // when a Ctrl+C passed
	held   []byte    // may be the beginning of a blocked sequence
	passed []byte    // the end of what passed just before: see completes
	stop   func() bool
	turn   uint64 // counts what happened to held, so that a late timer knows
	closed bool
}

// New returns a filter that passes what it lets through to next.
func New(s Settings, next func([]byte) error) *Filter {
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.After == nil {
		s.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	s.Block = notEmpty(s.Block)
	return &Filter{settings: s, next: next}
}

func notEmpty(list [][]byte) [][]byte {
	var out [][]byte
	for _, b := range list {
		if len(b) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// Write takes input and passes what is left of it.
func (f *Filter) Write(p []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.disarm()
	out := make([]byte, 0, len(f.held)+len(p))
	for _, b := range p {
		if b == interrupt && f.bounces() {
			continue
		}
		f.held = append(f.held, b)
		out = f.settle(out, false)
	}
	if len(f.held) > 0 {
		f.arm()
	}
	return f.pass(out)
}

// bounces reports whether a Ctrl+C comes too soon after the last that passed.
func (f *Filter) bounces() bool {
	now := f.settings.Now()
	if !f.last.IsZero() && now.Sub(f.last) < f.settings.Debounce {
		return true
	}
	f.last = now
	return false
}

// settle moves to out whatever cannot be part of a blocked sequence any more,
// and drops one that is complete. With all it does not wait for the rest of one
// that has only begun.
func (f *Filter) settle(out []byte, all bool) []byte {
	for len(f.held) > 0 {
		n := f.blocked(f.held)
		switch {
		case n > 0:
			f.held = f.held[n:]
		case !all && f.begins(f.held):
			return out
		case f.completes(f.held[0]):
			f.held = f.held[1:]
		default:
			out = append(out, f.held[0])
			f.remember(f.held[0])
			f.held = f.held[1:]
		}
	}
	return out
}

// blocked is the length of a blocked sequence that p begins with, or 0.
func (f *Filter) blocked(p []byte) int {
	for _, b := range f.settings.Block {
		if bytes.HasPrefix(p, b) {
			return len(b)
		}
	}
	return 0
}

func (f *Filter) begins(p []byte) bool {
	for _, b := range f.settings.Block {
		if len(b) > len(p) && bytes.HasPrefix(b, p) {
			return true
		}
	}
	return false
}

// completes reports whether b makes a blocked sequence together with what has
// passed. That happens when a sequence was dropped from within another one:
// with "ab" blocked, "aabb" would come out as "ab".
func (f *Filter) completes(b byte) bool {
	for _, s := range f.settings.Block {
		n := len(s) - 1
		if s[n] == b && bytes.HasSuffix(f.passed, s[:n]) {
			return true
		}
	}
	return false
}

func (f *Filter) remember(b byte) {
	longest := 0
	for _, s := range f.settings.Block {
		longest = max(longest, len(s)-1)
	}
	f.passed = append(f.passed, b)
	if n := len(f.passed) - longest; n > 0 {
		f.passed = append(f.passed[:0], f.passed[n:]...)
	}
}

// arm starts the clock for what is held back.
func (f *Filter) arm() {
	turn := f.turn
	f.stop = f.settings.After(FlushAfter, func() { f.flush(turn) })
}

func (f *Filter) disarm() {
	f.turn++
	if f.stop != nil {
		f.stop() // one that fired already sees that its turn is over
		f.stop = nil
	}
}

// flush passes what was held back for long enough. Matching begins anew.
func (f *Filter) flush(turn uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || turn != f.turn {
		return
	}
	out := f.settle(nil, true)
	f.passed = f.passed[:0]
	_ = f.pass(out) // there is no call to return it from; the next Write will meet it too
}

func (f *Filter) pass(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	return f.next(p)
}

// Close drops what is held back. It may be called twice.
func (f *Filter) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.disarm()
}
