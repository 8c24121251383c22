package cli

import (
	"io"
	"unicode/utf8"
)

// logText shows the output of a program to somebody it was not made for: text,
// line ends, tabs and, if asked for, colours. Everything else is left out: a log
// that moves the cursor, asks the terminal questions, sets the clipboard or
// switches modes would act on who reads it. A daemon leaves it out too; one of
// another version, or of another machine, is not relied on.
type logText struct {
	w       io.Writer
	colours bool

	state byte // as in modeTracker
	seq   []byte
	out   []byte
}

func (l *logText) Write(p []byte) (int, error) {
	l.out = l.out[:0]
	for _, b := range p {
		l.step(b)
	}
	if _, err := l.w.Write(l.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *logText) step(b byte) {
	switch l.state {
	case inText:
		l.text(b)
	case inEscape:
		l.escape(b)
	case inCSI:
		l.csi(b)
	case inString, inEnd:
		l.skip(b)
	}
}

// text keeps what is printable.
func (l *logText) text(b byte) {
	if b >= utf8.RuneSelf {
		l.wide(b)
		return
	}
	if len(l.seq) > 0 { // a character that was begun and does not go on
		l.out = utf8.AppendRune(l.out, utf8.RuneError)
		l.seq = l.seq[:0]
	}
	switch {
	case b == 0x1b:
		l.state = inEscape
	case b == '\n', b == '\r', b == '\t', b >= ' ' && b != 0x7f:
		l.out = append(l.out, b)
	}
}

// wide collects a character of UTF-8. Nothing else may pass: a lone 0x9b is CSI
// to some terminals, and U+009B, 0xc2 0x9b, to those that know UTF-8.
func (l *logText) wide(b byte) {
	l.seq = append(l.seq, b)
	if !utf8.FullRune(l.seq) {
		return
	}
	r, n := utf8.DecodeRune(l.seq)
	if r < 0x80 || r > 0x9f {
		l.out = utf8.AppendRune(l.out, r)
	}
	again := n < len(l.seq) // what ended the one may begin another
	l.seq = l.seq[:0]
	if again && utf8.RuneStart(b) {
		l.seq = append(l.seq, b)
	}
}

func (l *logText) escape(b byte) {
	switch {
	case b == '[':
		l.state, l.seq = inCSI, l.seq[:0]
	case b == ']', b == 'P', b == 'X', b == '^', b == '_':
		l.state, l.seq = inString, l.seq[:0]
	case b >= 0x20 && b <= 0x2f, b == 0x1b: // goes on
	default:
		l.state = inText
	}
}

// csi passes colours, CSI numbers m, and nothing else.
func (l *logText) csi(b byte) {
	switch {
	case b == 0x1b:
		l.state, l.seq = inEscape, l.seq[:0]
	case b == 0x18, b == 0x1a:
		l.state, l.seq = inText, l.seq[:0]
	case b >= 0x40 && b <= 0x7e:
		if b == 'm' && l.colours && plainParams(l.seq) {
			l.out = append(append(append(l.out, 0x1b, '['), l.seq...), 'm')
		}
		l.state, l.seq = inText, l.seq[:0]
	case len(l.seq) < maxSequence:
		l.seq = append(l.seq, b)
	default:
		l.seq = append(l.seq[:0], '?') // too long to be colours
	}
}

func plainParams(p []byte) bool {
	for _, b := range p {
		if (b < '0' || b > '9') && b != ';' && b != ':' {
			return false
		}
	}
	return true
}

// skip leaves a string out, up to its end.
func (l *logText) skip(b byte) {
	switch {
	case l.state == inEnd && b == '\\', b == 0x07, b == 0x18, b == 0x1a:
		l.state = inText
	case l.state == inEnd:
		l.state = inEscape
		l.escape(b)
	case b == 0x1b:
		l.state = inEnd
	}
}
