package cli

import "unicode/utf8"

// plainText lets the text of a program through and nothing that steers a
// terminal: a step of a build is run by whoever wrote coop.toml, and what it
// prints passes a person's screen on its own. Colours go too.
type plainText struct {
	state int
	begun bool   // the last line is not ended
	part  []byte // of a character
}

// The states between characters.
const (
	plainState = iota
	escapeState
	sequenceState // CSI: until a letter
	stringState   // OSC and its like: until BEL or ESC \
	stringEscapeState
)

// clean gives what of some output may be shown. Characters may come in parts.
func (t *plainText) clean(p []byte) []byte {
	p = append(t.part, p...)
	t.part = nil
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		if !utf8.FullRune(p) {
			t.part = append([]byte(nil), p...)
			break
		}
		r, n := utf8.DecodeRune(p)
		if t.text(r) && !(r == utf8.RuneError && n == 1) {
			out = append(out, p[:n]...)
			t.begun = r != '\n'
		}
		p = p[n:]
	}
	return out
}

// text follows sequences and says whether a character belongs to the text.
func (t *plainText) text(r rune) bool {
	switch t.state {
	case escapeState:
		switch r {
		case '[':
			t.state = sequenceState
		case ']', 'P', '_', '^', 'X':
			t.state = stringState
		default:
			t.state = plainState
		}
		return false
	case sequenceState:
		if r >= '@' && r <= '~' {
			t.state = plainState
		}
		return false
	case stringState, stringEscapeState:
		switch {
		case r == '\a', t.state == stringEscapeState:
			t.state = plainState
		case r == 0x1b:
			t.state = stringEscapeState
		}
		return false
	}
	if r == 0x1b {
		t.state = escapeState
		return false
	}
	return r == '\n' || r == '\t' || r == '\r' || !hostile(r)
}

// end gives what is missing to the end of the last line.
func (t *plainText) end() []byte {
	if !t.begun {
		return nil
	}
	t.begun = false
	return []byte("\n")
}
