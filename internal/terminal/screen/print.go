package screen

import "github.com/clipperhouse/displaywidth"

// printASCII prints a run of printable ASCII.
func (s *Screen) printASCII(p []byte) {
	if s.insert || s.single != 0 || !s.sets.ascii() {
		for _, c := range p {
			s.printRune(rune(c))
		}
		return
	}
	for len(p) > 0 {
		if s.wrap {
			s.wrapNow()
		}
		n := min(len(p), s.cols-s.x)
		line := s.line(s.y)
		splitWide(line, s.x, s.x+n)
		s.put(line[s.x:s.x+n], p)
		s.last, s.lastX = rune(p[n-1]), s.x+n-1
		s.x += n
		p = p[n:]
		if s.x == s.cols {
			s.x, s.wrap = s.cols-1, true
			if len(p) > 0 && !s.autowrap { // the rest falls on the last column
				p = p[len(p)-1:]
			}
		}
	}
}

func (s *Screen) put(to []cell, p []byte) {
	c := cell{style: s.pen}
	for i, b := range p[:len(to)] {
		c.r = uint32(b)
		to[i] = c
	}
}

func (s *Screen) printRune(raw rune) {
	r, shifted := s.translate(raw), s.single != 0
	s.single = 0
	w := width(r)
	if w == 0 {
		s.combine(r)
		return
	}
	if w > s.cols || (!s.autowrap && s.x+w > s.cols) {
		return
	}
	if s.wrap || s.x+w > s.cols {
		s.wrapNow()
	}
	if s.insert {
		s.insertCells(w)
	}
	s.place(r, w)
	s.last, s.lastX = raw, s.x
	if shifted {
		s.last = 0
	}
	s.x += w
	if s.x >= s.cols {
		s.x, s.wrap = s.cols-1, true
	}
}

func (s *Screen) place(r rune, w int) {
	line := s.line(s.y)
	splitWide(line, s.x, s.x+w)
	c := cell{r: uint32(r), style: s.pen}
	if w == 2 {
		c.r |= wideFlag
		line[s.x+1] = cell{r: tail, style: s.pen}
	}
	line[s.x] = c
}

// wrapNow is the wrap that a full row had put off. Without autowrap the cursor
// stays, and the last column is written again.
func (s *Screen) wrapNow() {
	s.wrap = false
	if s.autowrap {
		s.x = 0
		s.index()
	}
}

// width is the columns of a rune as the C library and xterm count them, each
// rune by itself. Clusters that newer terminals draw narrower are put in place
// by Snapshot.
func width(r rune) int {
	switch {
	case r < 0x300: // Latin; the soft hyphen shows as a hyphen
		return 1
	case r >= 0x1160 && r <= 0x11ff: // Hangul vowels and finals join the initial
		return 0
	case r >= 0x2500 && r < 0x25a0 || r >= 0x370 && r < 0x483: // boxes, Greek and Cyrillic: for speed
		return 1
	case r >= 0x4e00 && r < 0xa000 || r >= 0xac00 && r < 0xd7a4: // Han and Hangul, too
		return 2
	case r >= 0x1f1e6 && r <= 0x1f1ff: // two of them make a flag
		return 1
	}
	return displaywidth.Rune(r)
}
