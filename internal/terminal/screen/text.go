package screen

import (
	"fmt"
	"strings"
)

// Cell is one column as a viewer sees it.
type Cell struct {
	Text string // " " for a blank, "" for the second half of a wide character
	SGR  string // parameters that give its look, "" for the default
	Link string

	Erased bool // not written: a blank that is no space
}

// Cells returns the visible screen, row by row.
func (s *Screen) Cells() [][]Cell {
	return s.cellsOf(s.active)
}

func (s *Screen) cellsOf(which int) [][]Cell {
	var rows [][]Cell
	for y := range s.grids[which].order {
		row := make([]Cell, s.cols)
		for x, c := range s.grids[which].line(y) {
			row[x] = Cell{s.textOf(c), string(c.appendParams(nil)), s.linkOf(c.style).uri, c.r == 0}
		}
		rows = append(rows, row)
	}
	return rows
}

// Text is the visible screen as plain text: a line for each row, without blanks
// at the end of lines and without empty lines at the end.
func (s *Screen) Text() string {
	var b strings.Builder
	for y := range s.rows {
		for _, c := range s.line(y) {
			b.WriteString(s.textOf(c))
		}
		b.WriteByte('\n')
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}

// Cursor returns the column and row, from 0, and whether it is shown.
func (s *Screen) Cursor() (x, y int, visible bool) { return s.x, s.y, !s.hidden }

// OnAlternate says whether the alternate screen is shown.
func (s *Screen) OnAlternate() bool { return s.active == onAlt }

// Diff says where two screens first differ in anything that a snapshot shows or
// that later output depends on; empty if they do not.
func Diff(a, b *Screen) string {
	if a.cols != b.cols || a.rows != b.rows {
		return fmt.Sprintf("size: %dx%d and %dx%d", a.cols, a.rows, b.cols, b.rows)
	}
	for i, name := range []string{"main", "alternate"} {
		if d := diffCells(a.cellsOf(i), b.cellsOf(i)); d != "" {
			return name + " screen, " + d
		}
	}
	x, y := a.describe(), b.describe()
	for i := range x {
		if x[i] != y[i] {
			return x[i] + " and " + y[i]
		}
	}
	return ""
}

func diffCells(a, b [][]Cell) string {
	if len(a) != len(b) {
		return "present in one only"
	}
	for y := range a {
		for x := range a[y] {
			if a[y][x] != b[y][x] {
				return fmt.Sprintf("column %d, row %d: %+v and %+v", x, y, a[y][x], b[y][x])
			}
		}
	}
	return ""
}

// describe names all state but the cells.
func (s *Screen) describe() []string {
	tabs := s.tabs
	for x := s.cols; x < len(tabs)*64; x++ {
		tabs.set(x, false) // a terminal of this size cannot be told
	}
	return []string{
		fmt.Sprintf("active screen %d", s.active),
		"cursor " + s.describeCursor(s.cursor),
		"saved cursor " + s.describeCursor(s.saved[onMain]),
		"saved alternate cursor " + s.describeCursor(s.saved[onAlt]),
		fmt.Sprintf("region %d-%d", s.top, s.bottom),
		fmt.Sprintf("modes %+v", s.modes),
		fmt.Sprintf("tabs %x", tabs),
		fmt.Sprintf("keyboard %v", s.keyboard),
		fmt.Sprintf("single shift %d", s.single),
		fmt.Sprintf("last character %q", pick(s.insert, "", string(s.last))),
		fmt.Sprintf("cut state %d, bytes %q", s.state, s.part[:s.nPart]),
	}
}

func (s *Screen) describeCursor(c cursor) string {
	l := s.linkOf(c.pen)
	return fmt.Sprintf("%d,%d wrap %v origin %v pen %q link %q sets %v", c.x, c.y, c.wrap, c.origin, c.pen.appendParams(nil), l, c.sets)
}
