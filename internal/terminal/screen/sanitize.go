package screen

import "unicode/utf8"

// Sanitizer makes output safe to show later, in logs and scrollback: text, line
// ends, tabs and SGR stay, and nothing else does. The zero value is ready;
// chunks may be cut anywhere, and what it holds back is bounded.
type Sanitizer struct {
	state    state
	between  bool   // in escape: an intermediate byte was seen
	held     []byte // body of a control sequence
	dropped  int    // bytes of the string that is being dropped
	part     [utf8.UTFMax]byte
	nPart    int
	coloured bool
}

// Bounds. A string that never ends must not swallow a whole log: a command (OSC)
// ends at a line feed, which none has in it; images are long.
const (
	maxSGR           = 128
	maxDroppedOSC    = 64 << 10
	maxDroppedString = 1 << 20
)

// Sanitize appends the safe form of a whole output to dst.
func Sanitize(dst, src []byte) []byte {
	var z Sanitizer
	return z.End(z.Append(dst, src))
}

// Append appends the safe form of the next chunk to dst.
func (z *Sanitizer) Append(dst, src []byte) []byte {
	for len(src) > 0 {
		n := 0
		if z.state == ground && z.nPart == 0 {
			dst, n = z.appendWhole(dst, src)
		}
		if n == 0 {
			dst = z.step(dst, src[0])
			n = 1
		}
		src = src[n:]
	}
	return dst
}

// appendWhole takes a run of text or a control sequence that is not cut; it
// returns 0 if there is neither.
func (z *Sanitizer) appendWhole(dst, src []byte) ([]byte, int) {
	if n := printable(src); n > 0 {
		return append(dst, src[:n]...), n
	}
	if src[0] != esc {
		return dst, 0
	}
	n := wholeCSI(src)
	if n > 0 && src[n-1] == 'm' && isSGR(src[2:n-1]) {
		dst = append(dst, src[:n]...)
		z.coloured = true
	}
	return dst, n
}

// End appends what closes the output: a character that was cut shows as
// U+FFFD, and colours go no further.
func (z *Sanitizer) End(dst []byte) []byte {
	if z.nPart > 0 {
		dst = utf8.AppendRune(dst, utf8.RuneError)
	}
	if z.coloured {
		dst = append(dst, "\x1b[m"...)
	}
	*z = Sanitizer{}
	return dst
}

func (z *Sanitizer) step(dst []byte, b byte) []byte {
	if b < utf8.RuneSelf && z.nPart == 0 {
		return z.feed(dst, rune(b))
	}
	z.part[z.nPart] = b
	z.nPart++
	for z.nPart > 0 && utf8.FullRune(z.part[:z.nPart]) {
		r, n := decode(z.part[:z.nPart])
		z.nPart = copy(z.part[:], z.part[n:z.nPart])
		dst = z.feed(dst, r)
	}
	return dst
}

func (z *Sanitizer) feed(dst []byte, r rune) []byte {
	switch {
	case r == esc:
		z.enter(escape)
	case r == can || r == sub || r == st:
		z.enter(ground)
	case r >= c1 && r < 0xa0:
		z.enter(escape)
		z.feedEscape(r - 0x40)
	case z.state == osc || z.state == dcs:
		return z.feedString(dst, r)
	case r < 0x20:
		return keepControl(dst, r)
	case r == del:
	case z.state == ground:
		return utf8.AppendRune(dst, r)
	case z.state == escape:
		z.feedEscape(r)
	default:
		return z.feedCSI(dst, r)
	}
	return dst
}

func (z *Sanitizer) enter(to state) {
	z.state, z.between, z.held, z.dropped = to, false, z.held[:0], 0
}

// keepControl keeps what ends a line or fills it. Backspace would let text
// cover up what was there.
func keepControl(dst []byte, r rune) []byte {
	if r == '\n' || r == '\r' || r == '\t' {
		return append(dst, byte(r))
	}
	return dst
}

func (z *Sanitizer) feedEscape(r rune) {
	switch {
	case r >= 0x20 && r < 0x30:
		z.between = true
	case z.between:
		z.enter(ground)
	case r == '[':
		z.enter(csi)
	case r == ']':
		z.enter(osc)
	case r == 'P' || r == 'X' || r == '^' || r == '_':
		z.enter(dcs)
	default:
		z.enter(ground)
	}
}

func (z *Sanitizer) feedCSI(dst []byte, r rune) []byte {
	switch {
	case r < 0x40:
		if len(z.held) <= maxSGR {
			z.held = append(z.held, byte(r))
		}
		return dst
	case r == 'm' && isSGR(z.held):
		dst = append(append(append(dst, "\x1b["...), z.held...), 'm')
		z.coloured = true
	}
	z.enter(ground)
	return dst
}

func isSGR(body []byte) bool {
	for _, c := range body {
		if c < '0' || c > ';' {
			return false
		}
	}
	return len(body) <= maxSGR
}

func (z *Sanitizer) feedString(dst []byte, r rune) []byte {
	limit := maxDroppedString
	if z.state == osc {
		limit = maxDroppedOSC
		if r == '\n' {
			z.enter(ground)
			return append(dst, '\n')
		}
	}
	z.dropped++
	if z.dropped > limit || (r == bel && z.state == osc) {
		z.enter(ground)
	}
	return dst
}
