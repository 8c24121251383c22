package screen

// moveTo goes to a column and row, counted from the region in origin mode.
func (s *Screen) moveTo(x, y int) {
	lo, hi := 0, s.rows-1
	if s.origin {
		lo, hi = s.top, s.bottom
	}
	s.y = clamp(y+lo, lo, hi)
	s.toColumn(x)
}

func (s *Screen) toColumn(x int) {
	s.x, s.wrap = clamp(x, 0, s.cols-1), false
}

// up stops at the region's edge, unless it starts beyond it.
func (s *Screen) up(n int) {
	limit := 0
	if s.y >= s.top {
		limit = s.top
	}
	s.y, s.wrap = max(limit, s.y-n), false
}

func (s *Screen) down(n int) {
	limit := s.rows - 1
	if s.y <= s.bottom {
		limit = s.bottom
	}
	s.y, s.wrap = min(limit, s.y+n), false
}

// index moves down and scrolls at the region's end.
func (s *Screen) index() {
	s.wrap = false
	if s.y == s.bottom {
		s.scrollUp(1)
	} else if s.y < s.rows-1 {
		s.y++
	}
}

func (s *Screen) reverseIndex() {
	s.wrap = false
	if s.y == s.top {
		s.scrollDown(1)
	} else if s.y > 0 {
		s.y--
	}
}

// setRegion is DECSTBM. A region of less than two rows is refused.
func (s *Screen) setRegion(top, bottom int) {
	bottom = min(bottom, s.rows-1)
	if top >= bottom {
		return
	}
	s.top, s.bottom = top, bottom
	s.moveTo(0, 0)
}
