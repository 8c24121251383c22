package screen

// blank is what erasing leaves: the background of the pen (bce).
func (s *Screen) blank() cell { return cell{style: style{bg: s.pen.bg}} }

func (s *Screen) scrollUp(n int) {
	s.wrap = false
	s.grids[s.active].scrollUp(s.top, s.bottom, n, s.blank())
}

func (s *Screen) scrollDown(n int) {
	s.wrap = false
	s.grids[s.active].scrollDown(s.top, s.bottom, n, s.blank())
}

func (s *Screen) insertLines(n int) {
	if s.y < s.top || s.y > s.bottom {
		return
	}
	s.x, s.wrap = 0, false
	s.grids[s.active].scrollDown(s.y, s.bottom, n, s.blank())
}

func (s *Screen) deleteLines(n int) {
	if s.y < s.top || s.y > s.bottom {
		return
	}
	s.x, s.wrap = 0, false
	s.grids[s.active].scrollUp(s.y, s.bottom, n, s.blank())
}

func (s *Screen) insertCells(n int) {
	s.wrap = false
	line := s.line(s.y)
	n = min(n, s.cols-s.x)
	splitWide(line, s.x, s.cols)
	copy(line[s.x+n:], line[s.x:])
	fill(line[s.x:s.x+n], s.blank())
	if last := &line[s.cols-1]; last.isWide() { // its second half was pushed out
		*last = cell{}
	}
}

func (s *Screen) deleteCells(n int) {
	s.wrap = false
	line := s.line(s.y)
	n = min(n, s.cols-s.x)
	splitWide(line, s.x, s.x+n)
	copy(line[s.x:], line[s.x+n:])
	fill(line[s.cols-n:], s.blank())
}

func (s *Screen) eraseCells(n int) {
	s.wrap = false
	s.erase(s.y, s.x, s.x+min(n, s.cols-s.x))
}

// erase blanks columns from..to-1 of a row.
func (s *Screen) erase(y, from, to int) {
	line := s.line(y)
	splitWide(line, from, to)
	fill(line[from:to], s.blank())
}

func (s *Screen) eraseLine(how int) {
	s.wrap = false
	switch how {
	case 0:
		s.erase(s.y, s.x, s.cols)
	case 1:
		s.erase(s.y, 0, s.x+1)
	case 2:
		s.erase(s.y, 0, s.cols)
	}
}

// eraseDisplay is ED; 3 is the scrollback, which is not kept here.
func (s *Screen) eraseDisplay(how int) {
	g := &s.grids[s.active]
	switch how {
	case 0:
		s.eraseLine(0)
		g.fill(s.y+1, s.rows-1, s.blank())
	case 1:
		s.eraseLine(1)
		g.fill(0, s.y-1, s.blank())
	case 2:
		s.wrap = false
		g.fill(0, s.rows-1, s.blank())
	}
}
