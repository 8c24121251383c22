package screen

// cell is one column of a row. The zero cell is erased, in default colours. An
// erased cell has no attribute but a background; it looks as a space does, but
// terminals leave it out of what they copy.
type cell struct {
	r uint32 // a rune or an index into the cluster table, with the flags below
	style
}

const (
	clusterFlag = 1 << 31 // the rest is an index: base and combining marks
	wideFlag    = 1 << 30 // the character goes on in the next cell
	tail        = 1 << 29 // second half of the character before
	valueMask   = 1<<29 - 1
)

func (c cell) isTail() bool { return c.r == tail }
func (c cell) isWide() bool { return c.r&wideFlag != 0 }

// grid is the cells of one screen. Rows move by their number in order, so
// scrolling copies no cells; nothing in it is a pointer for the collector.
type grid struct {
	cols  int
	cells []cell
	order []uint16
}

func newGrid(cols, rows int) grid {
	g := grid{cols: cols, cells: make([]cell, cols*rows), order: make([]uint16, rows)}
	for y := range g.order {
		g.order[y] = uint16(y)
	}
	return g
}

// renew is newGrid in the memory of a grid that is no longer used.
func (g grid) renew(cols, rows int) grid {
	if g.cols != cols || len(g.order) != rows {
		return newGrid(cols, rows)
	}
	clear(g.cells)
	return g
}

func (g *grid) line(y int) []cell {
	at := int(g.order[y]) * g.cols
	return g.cells[at : at+g.cols : at+g.cols]
}

// scrollUp moves rows top..bottom up by n; the rows that come in are blank.
func (g *grid) scrollUp(top, bottom, n int, blank cell) {
	n = min(n, bottom-top+1)
	rotate(g.order[top:bottom+1], n)
	g.fill(bottom-n+1, bottom, blank)
}

func (g *grid) scrollDown(top, bottom, n int, blank cell) {
	n = min(n, bottom-top+1)
	rotate(g.order[top:bottom+1], bottom-top+1-n)
	g.fill(top, top+n-1, blank)
}

func (g *grid) fill(from, to int, blank cell) {
	for y := from; y <= to; y++ {
		fill(g.line(y), blank)
	}
}

// rotate moves the first n entries to the end.
func rotate(o []uint16, n int) {
	if n == 1 {
		first := o[0]
		copy(o, o[1:])
		o[len(o)-1] = first
		return
	}
	var few [MaxRows]uint16
	k := copy(few[:], o[:n])
	copy(o, o[n:])
	copy(o[len(o)-k:], few[:k])
}

func fill(line []cell, blank cell) {
	if blank == (cell{}) {
		clear(line)
		return
	}
	for i := range line {
		line[i] = blank
	}
}

// resize keeps the rows around the cursor: those below it go first, then those
// at the top. It returns how many went at the top.
func (g *grid) resize(cols, rows, cursorY int) (gone int) {
	have := len(g.order)
	gone = max(0, min(cursorY, have-1)-rows+1)
	next := newGrid(cols, rows)
	for y := range min(rows, have-gone) {
		line := next.line(y)
		n := copy(line, g.line(y+gone))
		if line[n-1].isWide() {
			line[n-1] = cell{}
		}
	}
	*g = next
	return gone
}

// splitWide blanks the other half of characters that are about to be half
// overwritten in columns from..to-1. Terminals disagree about the colour of that
// half; this is tmux's.
func splitWide(line []cell, from, to int) {
	if from < len(line) && line[from].isTail() {
		line[from], line[from-1] = cell{}, cell{}
	}
	if to < len(line) && line[to].isTail() {
		line[to], line[to-1] = cell{}, cell{}
	}
}
