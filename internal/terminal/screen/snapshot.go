package screen

import (
	"slices"
	"strconv"
)

// Snapshot returns what makes a terminal of the same size show this screen,
// whatever state the terminal is in. Live output may follow directly, also in
// the middle of a sequence or character.
//
// Order matters: DECSTBM and DECOM move the cursor, so the region comes before
// the cursor, and the cursor before what does not touch it. The main screen is
// drawn first; with the cursor where the program had saved it, 1049 then saves
// that place again. Tab stops are set on both: some terminals keep them apart.
func (s *Screen) Snapshot() []byte {
	return s.appendPending(s.appendState(nil))
}

// appendState is the snapshot without what was cut.
func (s *Screen) appendState(b []byte) []byte {
	w := painter{s: s, b: slices.Grow(b, 4096)}
	w.plainly(prologue)
	w.draw(onMain)
	w.tabStops()
	if s.active == onAlt {
		w.keyboard(onMain)
		w.text(pick(w.savedCursor(onMain), "\x1b[?1049h", "\x1b[?47h"))
		w.plainly(plain + "\x1b[<99u\x1b[H\x1b[J")
		w.draw(onAlt)
		w.tabStops()
	}
	w.keyboard(s.active)
	w.otherKeys()
	w.savedCursor(s.active)
	w.plainly(plain)
	w.region()
	w.cursor(s.active, s.cursor)
	w.modes()
	w.lastCharacter()
	return w.b
}

const (
	// plain is the state to draw in. Without autowrap a character that the
	// viewer's terminal thinks is wider cannot push a row into the next.
	plain = "\x1b[?6l\x1b[?7l\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[m"
	// noLink is written only where there were links: the Linux console of older
	// kernels would print it.
	noLink = "\x1b]8;;\x1b\\"
	// prologue ends whatever the terminal was in the middle of. CAN, not ST: ST
	// would carry out half a command. The space uses up a single shift.
	prologue = "\x18\x1b[?2026h\x1b[?25l\x1b[<99u\x1b[?1049l\x1b[<99u\x1b[4l\x1b[20l\x1b[r" + plain + "\r \x1b[H\x1b[J"
)

// Leave returns what brings a viewer's terminal back to its defaults when it
// stops showing a screen. What is on the main screen stays, and so does the
// cursor there: it is saved before 1049, which restores it also where there is
// no alternate screen to leave, and around the region, which moves it.
func Leave() []byte {
	return []byte("\x18\x1b[<99u\x1b7\x1b[?1049l\x1b[<99u\x1b[>4m\x1b[4l\x1b[20l\x1b7\x1b[r\x1b8\x1b[!p" +
		"\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[m" + noLink + modesOff + "\x1b>\x1b[?7h\x1b[0 q\x1b[?25h\x1b[?2026l")
}

const modesOff = "\x1b[?1;5;9;1000;1002;1003;1004;1005;1006;1015;1016;2004l"

// painter writes sequences and knows the style the terminal has now.
type painter struct {
	s   *Screen
	b   []byte
	now style

	regionSet bool
}

func (w *painter) text(t string) { w.b = append(w.b, t...) }

// plainly writes a text that has plain in it.
func (w *painter) plainly(t string) {
	w.text(t)
	w.text(pick(w.s.links.used, noLink, ""))
	w.now = style{}
}

// csi writes CSI, the numbers, and the final bytes.
func (w *painter) csi(final string, n ...int) {
	w.b = append(w.b, "\x1b["...)
	for i, v := range n {
		if i > 0 {
			w.b = append(w.b, ';')
		}
		w.b = strconv.AppendInt(w.b, int64(v), 10)
	}
	w.b = append(w.b, final...)
}

func (w *painter) draw(which int) {
	g := &w.s.grids[which]
	for y := range g.order {
		w.row(y, g.line(y))
	}
}

func (w *painter) row(y int, line []cell) {
	end := len(line)
	for end > 0 && line[end-1] == (cell{}) {
		end--
	}
	x := blanks(line[:end])
	if x == end {
		return
	}
	w.csi("H", y+1, x+1)
	for x < end {
		if line[x].r == 0 {
			x += w.erased(line, x)
		} else {
			x += w.cell(line, x)
		}
	}
}

// erased makes a run of erased cells, which is there already if it has no
// colour.
func (w *painter) erased(line []cell, x int) int {
	n := 1
	for x+n < len(line) && line[x+n] == line[x] {
		n++
	}
	if line[x] != (cell{}) {
		w.style(line[x].style)
		w.csi("X", n)
	}
	if x+n < len(line) {
		w.csi("C", n)
	}
	return n
}

// blanks is how many cells at the start are as clearing has left them.
func blanks(line []cell) int {
	for i, c := range line {
		if c != (cell{}) {
			return i
		}
	}
	return len(line)
}

// cell draws the character at x and returns its width. Terminals do not agree
// on the width of emoji and clusters, so the column after one is set.
func (w *painter) cell(line []cell, x int) int {
	c, n := line[x], 1
	w.style(c.style)
	w.character(c, x+1 == len(line) || x+2 == len(line) && c.isWide())
	if c.isWide() {
		n = 2
	}
	if (c.r&clusterFlag != 0 || c.r&valueMask >= 0x1f000) && x+n < len(line) {
		w.csi("G", x+n+1)
	}
	return n
}

// character writes the text of a cell. At the end of a row, marks find it only
// if the cursor has left it for a wrap that is due.
func (w *painter) character(c cell, atEnd bool) {
	wrap := atEnd && c.r&clusterFlag != 0
	w.text(pick(wrap, "\x1b[?7h", ""))
	w.b = append(w.b, w.s.textOf(c)...)
	w.text(pick(wrap, "\x1b[?7l", ""))
}

func (w *painter) style(t style) {
	if t == w.now {
		return
	}
	if t.link != w.now.link {
		w.link(w.s.linkOf(t))
	}
	link := t.link
	t.link, w.now.link = 0, 0
	if t != w.now {
		w.b = t.appendSGR(w.b)
	}
	w.now = t
	w.now.link = link
}

func (w *painter) link(l link) {
	w.b = append(w.b, "\x1b]8;"...)
	if l.id != "" {
		w.b = append(append(w.b, "id="...), l.id...)
	}
	w.b = append(append(append(w.b, ';'), l.uri...), "\x1b\\"...)
}

// cursor brings about the state that DECSC saves. The wrap that is due at the
// last column comes from printing what is there once more.
func (w *painter) cursor(which int, c cursor) {
	y := c.y
	if c.origin {
		w.text("\x1b[?6h")
		y -= w.top()
	}
	w.csi("H", y+1, c.x+1)
	if c.wrap {
		w.reprint(w.s.grids[which].line(c.y), y, c.x)
	}
	w.style(c.pen)
	w.charsets(c.sets)
}

// savedCursor makes the cursor that DECSC has saved, and saves it. Where its wrap
// is due, the program may have erased what it had printed; then only the saved
// cursor is right (false).
func (w *painter) savedCursor(which int) bool {
	c := w.s.saved[which]
	w.cursor(which, c)
	w.text("\x1b7")
	at := w.s.grids[which].line(c.y)[c.x]
	if !c.wrap || at.r != 0 {
		return true
	}
	w.style(at.style)
	w.text("\x1b[X")
	return false
}

func (w *painter) reprint(line []cell, y, x int) {
	if line[x].isTail() {
		x--
	}
	w.csi("H", y+1, x+1)
	w.cell(line, x)
}
