package cli

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// modeTracker reads along what goes to a person's terminal and knows how to
// undo it. A program that is left behind, or dies, leaves modes on that would
// make the shell unusable.
//
// Most of them are harmless to reset without asking (see undoAlways). Tracked
// are those where that would do damage: leaving an alternate screen that was
// not entered moves the cursor, popping a keyboard mode that was not pushed
// takes somebody else's.
type modeTracker struct {
	touched bool // anything but text was shown

	state byte   // 0 is text, else what a sequence began with
	seq   []byte // of that sequence, at most maxSequence bytes

	alt      bool
	on       map[int]bool // of trackedModes
	pushed   [2]int       // keyboard modes, of the main and the alternate screen
	set      [2]bool      // the same, changed in place
	margins  bool
	style    bool // of the cursor
	link     bool // inside a hyperlink
	insert   bool
	colours  map[int]bool // OSC 4, 10, 11, 12
	absolute bool         // the cursor was put somewhere on the main screen
}

// maxSequence is enough for what is tracked; of a longer sequence only the
// beginning is kept.
const maxSequence = 64

// shiftOut switches to another character set, without an escape sequence.
const shiftOut = 0x0e

// What a sequence began with.
const (
	inText   = 0
	inEscape = 0x1b
	inCSI    = '['
	inString = ']'  // OSC, DCS, APC, PM, SOS: all until ST
	inEnd    = '\\' // an ESC inside a string
)

// Modes that are undone only when they were on: the cursor would move, or a
// terminal might not know them.
const (
	modeOrigin  = 6
	modeLeft    = 69
	modeSync    = 2026
	modeScheme  = 2031
	modeInBand  = 2048
	mainScreen  = 0
	otherScreen = 1
)

// Write notes what p does. It never fails.
func (m *modeTracker) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if m.state == inText {
			i := bytes.IndexByte(p, 0x1b)
			if i < 0 {
				m.touched = m.touched || bytes.IndexByte(p, shiftOut) >= 0
				break
			}
			m.touched = true
			m.begin(inEscape)
			p = p[i+1:]
			continue
		}
		m.step(p[0])
		p = p[1:]
	}
	return n, nil
}

func (m *modeTracker) begin(state byte) { m.state, m.seq = state, m.seq[:0] }

func (m *modeTracker) step(b byte) {
	switch m.state {
	case inEscape:
		m.escape(b)
	case inCSI:
		m.inCSI(b)
	case inString, inEnd:
		m.inString(b)
	}
}

func (m *modeTracker) escape(b byte) {
	switch {
	case b == '[':
		m.begin(inCSI)
	case strings.IndexByte("]PX^_", b) >= 0:
		m.begin(inString)
		m.seq = append(m.seq, b)
	case b == 'c':
		*m = modeTracker{seq: m.seq[:0], touched: true, absolute: true} // a hard reset of everything
	case b >= 0x20 && b <= 0x2f, b == 0x1b: // ESC ( B and the like go on
	default:
		m.begin(inText)
	}
}

func (m *modeTracker) inCSI(b byte) {
	switch {
	case b == 0x1b:
		m.begin(inEscape)
	case b == 0x18, b == 0x1a: // CAN and SUB give a sequence up
		m.begin(inText)
	case b >= 0x40 && b <= 0x7e:
		m.csi(string(m.seq), b)
		m.begin(inText)
	case b >= 0x20 && b <= 0x3f && len(m.seq) < maxSequence:
		m.seq = append(m.seq, b)
	}
}

func (m *modeTracker) inString(b byte) {
	switch {
	case m.state == inEnd && b == '\\', b == 0x07, b == 0x18, b == 0x1a:
		m.osc(string(m.seq))
		m.begin(inText)
	case m.state == inEnd:
		m.begin(inEscape)
		m.escape(b)
	case b == 0x1b:
		m.state = inEnd
	case len(m.seq) < maxSequence:
		m.seq = append(m.seq, b)
	}
}

// csi is one control sequence: its parameters with the marks around them, and
// its final byte.
func (m *modeTracker) csi(params string, final byte) {
	switch {
	case (final == 'h' || final == 'l') && strings.HasPrefix(params, "?"):
		for _, mode := range numbers(params[1:]) {
			m.mode(mode, final == 'h')
		}
	case (final == 'h' || final == 'l') && params == "4":
		m.insert = final == 'h'
	case final == 'u':
		m.keyboard(params)
	case final == 'r' && !strings.HasPrefix(params, "?"):
		m.margins = params != "" && params != ";"
	case final == 'q' && strings.HasSuffix(params, " "):
		m.style = true
	case final == 'p' && params == "!": // a soft reset
		m.margins, m.insert = false, false
		delete(m.on, modeOrigin)
	case final == 'H' || final == 'f' || final == 'd' || final == 'J':
		m.absolute = m.absolute || !m.alt
	}
}

func (m *modeTracker) mode(mode int, on bool) {
	switch mode {
	case 47, 1047, 1049:
		m.alt = on
	case modeOrigin, modeLeft, modeSync, modeScheme, modeInBand:
		if m.on == nil {
			m.on = map[int]bool{}
		}
		m.on[mode] = on
	}
}

// keyboard follows kitty's protocol: > pushes, < pops, = sets.
func (m *modeTracker) keyboard(params string) {
	if params == "" {
		return
	}
	depth := &m.pushed[m.screen()]
	switch params[0] {
	case '>':
		*depth = min(*depth+1, 64)
	case '<':
		n := 1
		if all := numbers(params[1:]); len(all) > 0 && all[0] > 0 {
			n = all[0]
		}
		*depth = max(*depth-n, 0)
	case '=':
		m.set[m.screen()] = true
	}
}

func (m *modeTracker) screen() int {
	if m.alt {
		return otherScreen
	}
	return mainScreen
}

// osc is a string sequence, with the byte it began with.
func (m *modeTracker) osc(s string) {
	s, ok := strings.CutPrefix(s, "]")
	if !ok {
		return
	}
	number, rest, _ := strings.Cut(s, ";")
	switch number {
	case "8":
		_, address, _ := strings.Cut(rest, ";")
		m.link = address != ""
	case "4", "10", "11", "12":
		if strings.HasSuffix(rest, "?") {
			return // a question changes nothing
		}
		if m.colours == nil {
			m.colours = map[int]bool{}
		}
		n, _ := strconv.Atoi(number) // one of the four
		m.colours[n] = true
	}
}

// numbers reads 1;2;3 and leaves out what is none.
func numbers(params string) []int {
	var all []int
	for _, p := range strings.Split(params, ";") {
		if n, err := strconv.Atoi(p); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// undoAlways is safe on every terminal that knows escape sequences: mouse and
// focus reports, bracketed paste and application keys off, cursor visible,
// lines wrap, xterm's modifyOtherKeys off, ASCII, no colours.
const undoAlways = "\x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l" +
	"\x1b[?2004l\x1b[?1l\x1b>\x1b[?5l\x1b[?7h\x1b[?25h\x1b[>4m\x1b(B\x0f\x1b[m"

// undo is what brings a terminal back, after which the tracker knows of nothing
// any more. It is nothing when all was text: what runs on a terminal that knows
// no escape sequences shall not see any.
func (m *modeTracker) undo() []byte {
	if !m.touched {
		return nil
	}
	var b bytes.Buffer
	if m.state == inString || m.state == inEnd {
		b.WriteString("\x1b\\") // or the terminal swallows all that follows
	} else if m.state != inText {
		b.WriteByte(0x18)
	}
	m.undoModes(&b)
	if m.alt {
		m.undoKeyboard(&b, otherScreen)
		b.WriteString("\x1b[?1049l")
	}
	m.undoKeyboard(&b, mainScreen)
	if m.margins {
		b.WriteString("\x1b7\x1b[r\x1b8") // setting margins moves the cursor
	}
	b.WriteString(undoAlways)
	*m = modeTracker{absolute: m.absolute}
	return b.Bytes()
}

func (m *modeTracker) undoModes(b *bytes.Buffer) {
	for _, mode := range []int{modeSync, modeScheme, modeInBand, modeLeft} {
		if m.on[mode] {
			fmt.Fprintf(b, "\x1b[?%dl", mode)
		}
	}
	if m.on[modeOrigin] {
		b.WriteString("\x1b[?6l")
		m.absolute = true // it puts the cursor into a corner
	}
	for _, n := range []int{4, 10, 11, 12} {
		if m.colours[n] {
			fmt.Fprintf(b, "\x1b]%d\x1b\\", 100+n)
		}
	}
	if m.link {
		b.WriteString("\x1b]8;;\x1b\\")
	}
	if m.insert {
		b.WriteString("\x1b[4l")
	}
	if m.style {
		b.WriteString("\x1b[0 q")
	}
}

func (m *modeTracker) undoKeyboard(b *bytes.Buffer, screen int) {
	if m.pushed[screen] > 0 {
		fmt.Fprintf(b, "\x1b[<%du", m.pushed[screen])
	}
	if m.set[screen] {
		b.WriteString("\x1b[=0u")
	}
}
