package screen

import "strings"

// control is a C0 control.
func (s *Screen) control(b byte) {
	s.last = 0
	switch b {
	case '\b':
		s.x, s.wrap = max(0, s.x-1), false
	case '\t':
		s.tab(1)
	case '\n', '\v', '\f':
		s.index()
		if s.newline {
			s.x = 0
		}
	case '\r':
		s.x, s.wrap = 0, false
	case 0x0e:
		s.sets.gl = 1
	case 0x0f:
		s.sets.gl = 0
	}
}

// dispatchESC is an escape sequence: what stands between ESC and its final byte,
// and that byte.
func (s *Screen) dispatchESC(between []byte, final byte) {
	s.last = 0
	switch string(between) {
	case "":
		s.escape(final)
	case "#":
		if final == '8' {
			s.alignment()
		}
	case "(", ")", "*", "+":
		s.sets.designate(strings.IndexByte("()*+", between[0]), final)
	}
}

func (s *Screen) escape(final byte) {
	switch final {
	case '7':
		s.save()
	case '8':
		s.restore()
	case 'D':
		s.index()
	case 'E':
		s.x = 0
		s.index()
	case 'H':
		s.tabs.set(s.x, true)
	case 'M':
		s.reverseIndex()
	case 'N', 'O':
		s.single = final - 'N' + 2
	case 'n', 'o':
		s.sets.gl = final - 'n' + 2
	case '=', '>':
		s.keypad = final == '='
	case 'c':
		s.reset()
	}
}

func (s *Screen) save() { s.saved[s.active] = s.cursor }

// restore is DECRC. A wrap is due only where something is written.
func (s *Screen) restore() {
	s.cursor = s.saved[s.active]
	if s.origin {
		s.y = clamp(s.y, s.top, s.bottom)
	}
	s.wrap = s.wrap && s.line(s.y)[s.x].r != 0
}

// alignment is DECALN: the screen full of E.
func (s *Screen) alignment() {
	s.top, s.bottom = 0, s.rows-1
	s.moveTo(0, 0)
	s.grids[s.active].fill(0, s.rows-1, cell{r: 'E'})
}
