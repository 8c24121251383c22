package cli

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// localTerminal is the terminal a person sits at. Between enter and leave it is
// raw and shows what a program in a sandbox writes; outside of that it is as it
// was, modes that the program left on included. Both may be called any number
// of times, in any order of trouble, from one goroutine; Write from another.
type localTerminal struct {
	in, out *os.File

	cooked *term.State // how it was before enter; nil when it is not raw

	// pen is held while writing. It is a channel because leave must not wait
	// for ever: a write to a terminal that somebody has stopped never returns.
	pen   chan struct{}
	modes modeTracker
	shown atomic.Bool // what is written is shown
}

// errNotShown is a write after leave.
var errNotShown = errors.New("the terminal is not ours")

// stuckTime is how long leave waits for a terminal that takes nothing.
const stuckTime = time.Second

// localTerminal gives the terminal of this command, or nil when its input or
// its output is something else.
func (a *app) localTerminal() *localTerminal {
	in, typed := a.streams.In.(*os.File)
	out, shown := a.streams.Out.(*os.File)
	if !typed || !shown || !isTerminal(in) || !isTerminal(out) {
		return nil
	}
	return newLocalTerminal(in, out)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func newLocalTerminal(in, out *os.File) *localTerminal {
	return &localTerminal{in: in, out: out, pen: make(chan struct{}, 1)}
}

// size is the terminal's, or what old ones had when it does not know.
func (l *localTerminal) size() (cols, rows int) {
	cols, rows, err := term.GetSize(int(l.out.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return 80, 24
	}
	return min(cols, maxSize), min(rows, maxSize)
}

// maxSize is the largest window a daemon makes; a larger one of ours stays
// partly empty.
const maxSize = 1000

// enter makes the terminal raw. When it already is, somebody may have changed
// it under us while we were stopped: it is made raw again, and what it shall go
// back to stays.
func (l *localTerminal) enter() error {
	before, err := term.MakeRaw(int(l.in.Fd()))
	if err != nil {
		return fmt.Errorf("make terminal raw: %w", err)
	}
	if l.cooked == nil {
		l.cooked = before
	}
	l.shown.Store(true)
	return nil
}

// leave gives the terminal back.
func (l *localTerminal) leave() {
	if l.cooked == nil {
		return
	}
	l.shown.Store(false)
	l.undo()
	_ = term.Restore(int(l.in.Fd()), l.cooked) // it fails when the terminal is gone, and then nobody minds
	l.cooked = nil
}

// undo brings the modes back.
func (l *localTerminal) undo() {
	l.write(func() []byte { return l.modes.undo() })
}

// write writes something of our own, or gives up: see stuckTime.
func (l *localTerminal) write(text func() []byte) {
	written := make(chan struct{})
	late := time.After(stuckTime)
	select {
	case l.pen <- struct{}{}:
	case <-late:
		return
	}
	go func() {
		defer close(written)
		_, _ = l.out.Write(text()) // nothing depends on it, and there is nowhere to tell
		<-l.pen
	}()
	select {
	case <-written:
	case <-late:
	}
}

// Write shows bytes of the program.
func (l *localTerminal) Write(p []byte) (int, error) {
	l.pen <- struct{}{}
	defer func() { <-l.pen }()
	if !l.shown.Load() {
		return 0, errNotShown
	}
	_, _ = l.modes.Write(p) // it does not fail
	return l.out.Write(p)
}

// remark shows a line of our own between those of the program, dimmed. It is
// never more than a remark: nothing depends on whether it can be seen.
func (l *localTerminal) remark(text string) {
	_, _ = l.Write([]byte("\r\n\x1b[2mcoop: " + escape(text) + "\x1b[m\r\n"))
}

// newLine puts the cursor where a message may begin, after leave: below what is
// on the screen, if that was painted rather than printed.
func (l *localTerminal) newLine() {
	l.write(func() []byte {
		if l.modes.absolute {
			return []byte("\x1b[999;1H\r\n")
		}
		return []byte("\r\n")
	})
}
