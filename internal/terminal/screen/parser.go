package screen

import "unicode/utf8"

// The parser is Paul Williams' machine for the VT500, reduced to what has an
// effect here, over runes: as in xterm, UTF-8 is decoded first, so U+0080 to
// U+009F are C1 controls and a stray byte is not.
//
//	state    bytes                      leaves
//	ground   text, controls             ESC → escape; C1 → the others
//	escape   0x20–0x2f kept             0x30–0x7e → dispatch or one of the below
//	csi      0x20–0x3f kept             0x40–0x7e → dispatch
//	osc      kept up to maxOSC          BEL, ST, ESC → dispatch
//	dcs,sos  dropped                    ST, ESC
//
// Controls act at once inside escape and csi and are dropped in strings; CAN
// and SUB leave every state; a byte that does not fit leaves without effect.
type parser struct {
	state state
	raw   []byte // of the sequence that is being read, without its controls
	part  [utf8.UTFMax]byte
	nPart int // bytes of a character that was cut

	params params
}

type state uint8

const (
	ground state = iota
	escape
	csi
	osc
	dcs
	sos // SOS, PM, APC
)

// Bounds of what is kept of a sequence. A longer one is read to its end and
// has no effect; one byte more than the bound is kept to remember that.
const (
	maxCSI = 256
	maxOSC = 4096
)

const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	del = 0x7f
	c1  = 0x80
	st  = 0x9c
)

func (s *Screen) write(p []byte) {
	for len(p) > 0 {
		if s.state == ground && s.nPart == 0 {
			p = p[s.writeGround(p):]
			continue
		}
		s.step(p[0])
		p = p[1:]
	}
}

// step takes one byte in any state.
func (s *Screen) step(b byte) {
	if b < utf8.RuneSelf && s.nPart == 0 {
		s.feed(rune(b))
		return
	}
	s.part[s.nPart] = b
	s.nPart++
	for s.nPart > 0 && utf8.FullRune(s.part[:s.nPart]) {
		r, n := decode(s.part[:s.nPart])
		s.nPart = copy(s.part[:], s.part[n:s.nPart])
		s.feed(r)
	}
}

// decode gives one U+FFFD for the longest start of a character that is cut, as
// the Unicode standard recommends and terminals do.
func decode(p []byte) (rune, int) {
	r, n := utf8.DecodeRune(p)
	if r == utf8.RuneError && n == 1 {
		for n < len(p) && !utf8.FullRune(p[:n+1]) {
			n++
		}
	}
	return r, n
}

// feed takes one rune in any state.
func (s *Screen) feed(r rune) {
	switch {
	case r == esc:
		s.endString()
		s.enter(escape, "\x1b")
	case r == can || r == sub:
		s.enter(ground, "")
	case r >= c1 && r < 0xa0:
		s.endString()
		s.feedC1(r)
	case s.state == ground:
		s.feedGround(r)
	case s.state == osc:
		s.feedOSC(r)
	case s.state == dcs || s.state == sos || r == del:
	case r < 0x20:
		s.control(byte(r))
	case r > del:
		s.enter(ground, "")
	case s.state == escape:
		s.feedEscape(byte(r))
	default:
		s.feedCSI(byte(r))
	}
}

func (s *Screen) enter(to state, raw string) {
	s.state = to
	s.raw = append(s.raw[:0], raw...)
	if to != escape && to != csi { // these may become REP
		s.last = 0
	}
}

// feedC1 takes a C1 control: the two byte form that means the same is read.
func (s *Screen) feedC1(r rune) {
	if r == st {
		s.enter(ground, "")
		return
	}
	s.enter(escape, "\x1b")
	s.feedEscape(byte(r) - 0x40)
}

func (s *Screen) feedGround(r rune) {
	switch {
	case r >= 0x20 && r != del:
		s.printRune(r)
	case r < 0x20:
		s.control(byte(r))
	}
}

func (s *Screen) feedEscape(b byte) {
	if len(s.raw) == 1 {
		switch b {
		case '[':
			s.enter(csi, "\x1b[")
			return
		case ']':
			s.enter(osc, "\x1b]")
			return
		case 'P':
			s.enter(dcs, "\x1bP")
			return
		case 'X', '^', '_':
			s.enter(sos, "\x1bX")
			return
		}
	}
	if b >= 0x30 {
		s.state = ground
		s.dispatchESC(s.raw[1:], b)
		return
	}
	s.keep(b)
}

func (s *Screen) feedCSI(b byte) {
	if b < 0x40 {
		s.keep(b)
		return
	}
	s.state = ground
	if len(s.raw) <= maxCSI {
		s.dispatchCSI(s.raw[2:], b)
	} else {
		s.last = 0
	}
}

func (s *Screen) feedOSC(r rune) {
	if r == bel {
		s.endString()
		s.enter(ground, "")
		return
	}
	if r < 0x20 || r == del {
		return
	}
	if len(s.raw)+utf8.RuneLen(r) <= maxOSC {
		s.raw = utf8.AppendRune(s.raw, r)
		return
	}
	for len(s.raw) <= maxOSC { // too long from here on, whatever follows
		s.raw = append(s.raw, '?')
	}
}

func (s *Screen) keep(b byte) {
	if len(s.raw) <= maxCSI {
		s.raw = append(s.raw, b)
	}
}

// endString acts on an OSC that ends, if it was kept whole.
func (s *Screen) endString() {
	if s.state == osc && len(s.raw) <= maxOSC {
		s.dispatchOSC(s.raw[2:])
	}
	if cap(s.raw) > maxCSI {
		s.raw = nil // a long title must not stay in memory
	}
}
