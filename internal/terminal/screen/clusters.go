package screen

import "unicode/utf8"

// maxMarks bounds the combining marks on one character (Zalgo text).
const maxMarks = 8

// clusterTable holds the few cells that are more than one rune. Entries are
// never changed, so cells may be copied; what no cell uses any more is found by
// a sweep when the table has grown to twice the cells there are, so that each
// sweep halves it at least and costs a constant for each entry.
type clusterTable struct {
	text []string
}

// combine adds a zero width rune to the character before the cursor.
func (s *Screen) combine(r rune) {
	x := s.x - 1
	if s.wrap {
		x = s.x
	}
	s.last = 0
	if x < 0 {
		return
	}
	line := s.line(s.y)
	if line[x].isTail() {
		x--
	}
	base := s.textOf(line[x])
	if utf8.RuneCountInString(base) > maxMarks {
		return
	}
	if len(s.texts.text) >= 2*s.cellCount()+64 {
		s.sweepClusters()
	}
	s.texts.text = append(s.texts.text, base+string(r))
	line[x].r = line[x].r&wideFlag | clusterFlag | uint32(len(s.texts.text)-1)
}

func (s *Screen) cellCount() int {
	return len(s.grids[onMain].cells) + len(s.grids[onAlt].cells)
}

// textOf is what a cell shows; nothing for the second half of a character.
func (s *Screen) textOf(c cell) string {
	switch {
	case c.isTail():
		return ""
	case c.r&clusterFlag != 0:
		return s.texts.text[c.r&valueMask]
	case c.r == 0:
		return " "
	}
	return string(rune(c.r & valueMask))
}

func (s *Screen) sweepClusters() {
	var live []string
	for i := range s.grids {
		for j := range s.grids[i].cells {
			c := &s.grids[i].cells[j]
			if c.r&clusterFlag == 0 {
				continue
			}
			live = append(live, s.texts.text[c.r&valueMask])
			c.r = c.r&(clusterFlag|wideFlag) | uint32(len(live)-1)
		}
	}
	s.texts.text = live
}
