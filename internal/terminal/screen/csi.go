package screen

import "unicode/utf8"

// dispatchCSI is a control sequence: what stands between CSI and its final byte,
// and that byte. Reports and what else is not here have no effect.
func (s *Screen) dispatchCSI(body []byte, final byte) {
	last := s.last
	s.last = 0
	if !s.params.parse(body) {
		return
	}
	switch {
	case s.params.prefix != 0:
		s.privateCSI(final)
	case s.params.inter != 0:
		s.intermediateCSI(final)
	case final == 'm':
		s.sgr()
	case final == 'b':
		s.repeat(last, s.params.at(0, 1))
	default:
		_ = s.moveCSI(final) || s.editCSI(final) || s.stateCSI(final)
	}
}

// moveCSI are the sequences that move the cursor.
func (s *Screen) moveCSI(final byte) bool {
	n := s.params.at(0, 1)
	switch final {
	case 'A':
		s.up(n)
	case 'B', 'e':
		s.down(n)
	case 'C', 'a':
		s.toColumn(s.x + n)
	case 'D':
		s.toColumn(s.x - n)
	case 'E':
		s.down(n)
		s.x = 0
	case 'F':
		s.up(n)
		s.x = 0
	case 'G', '`':
		s.toColumn(n - 1)
	case 'H', 'f':
		s.moveTo(s.params.at(1, 1)-1, n-1)
	case 'd':
		s.moveTo(s.x, n-1)
	case 'I':
		s.tab(n)
	case 'Z':
		s.backTab(n)
	default:
		return false
	}
	return true
}

// editCSI are the sequences that change what is on the screen.
func (s *Screen) editCSI(final byte) bool {
	n := s.params.at(0, 1)
	switch final {
	case '@':
		s.insertCells(n)
	case 'P':
		s.deleteCells(n)
	case 'X':
		s.eraseCells(n)
	case 'J':
		s.eraseDisplay(s.params.at(0, 0))
	case 'K':
		s.eraseLine(s.params.at(0, 0))
	case 'L':
		s.insertLines(n)
	case 'M':
		s.deleteLines(n)
	case 'S':
		s.scrollUp(n)
	case 'T', '^':
		if s.params.n == 1 { // with five it is highlight mouse tracking
			s.scrollDown(n)
		}
	default:
		return false
	}
	return true
}

// stateCSI are the sequences that change how later ones work.
func (s *Screen) stateCSI(final byte) bool {
	switch final {
	case 'g':
		s.tabs.clear(s.params.at(0, 0), s.x)
	case 'h', 'l':
		s.setModes(final == 'h')
	case 'r':
		s.setRegion(s.params.at(0, 1)-1, s.params.at(1, s.rows)-1)
	case 's':
		s.save()
	case 'u':
		s.restore()
	case 't':
		s.windowOp()
	default:
		return false
	}
	return true
}

func (s *Screen) privateCSI(final byte) {
	p := &s.params
	switch {
	case p.inter != 0:
	case p.prefix == '?' && (final == 'h' || final == 'l'):
		s.setPrivateModes(final == 'h')
	case p.prefix == '?' && final == 'J':
		s.eraseDisplay(p.at(0, 0)) // DECSED: nothing is protected here
	case p.prefix == '?' && final == 'K':
		s.eraseLine(p.at(0, 0))
	case p.prefix == '>' && final == 'm':
		s.setOtherKeys()
	case final == 'u':
		s.keyboard[s.active].csi(p)
	}
}

func (s *Screen) intermediateCSI(final byte) {
	switch {
	case s.params.inter == '!' && final == 'p':
		s.softReset()
	case s.params.inter == ' ' && final == 'q':
		if n := s.params.at(0, 0); n <= 6 {
			s.shape = uint8(n) + 1
		}
	}
}

// repeat is REP. Once the screen is full of a character, whole rows more of it
// change nothing: eight bytes must not cost more than a screen.
func (s *Screen) repeat(r rune, n int) {
	if r == 0 {
		return
	}
	if more := n - (s.rows+1)*s.cols; more > 0 {
		n -= more / s.cols * s.cols
	}
	var run [128]byte
	if r < utf8.RuneSelf {
		for i := range run {
			run[i] = byte(r)
		}
	}
	for ; n > 0 && r < utf8.RuneSelf; n -= len(run) {
		s.printASCII(run[:min(n, len(run))])
	}
	for ; n > 0; n-- {
		s.printRune(r)
	}
}

// softReset is DECSTR.
func (s *Screen) softReset() {
	s.insert, s.autowrap, s.appCursor, s.keypad, s.hidden = false, true, false, false, false
	s.origin, s.pen, s.sets, s.single = false, style{}, charsets{}, 0
	s.top, s.bottom = 0, s.rows-1
	s.saved[s.active] = cursor{}
}
