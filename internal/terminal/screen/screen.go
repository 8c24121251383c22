package screen

// The largest screen. A client asks for a size, so it must not be able to ask
// for all of the daemon's memory.
const (
	MaxCols = 1000
	MaxRows = 500
)

// Screen is the state of one terminal. It is not safe for concurrent use.
type Screen struct {
	cols, rows int
	grids      [2]grid // indexed by onMain and onAlt
	active     int
	spare      grid // memory of an alternate screen that was left

	cursor
	saved       [2]cursor // one for each grid, as in xterm
	top, bottom int       // scroll region, inclusive
	single      uint8     // G2 or G3 for the next character only
	last        rune      // what REP repeats: the character just printed, else 0
	lastX       int       // where it was put

	modes
	tabs     tabStops
	keyboard [2]keyboard

	parser
	texts clusterTable
	links linkTable
	title
	faults int
}

const (
	onMain = iota
	onAlt
)

// cursor is what DECSC saves.
type cursor struct {
	x, y   int
	wrap   bool // the last column was written: autowrap comes before the next character
	origin bool
	pen    style
	sets   charsets
}

// New returns an empty screen of that size, brought into the bounds of
// MaxCols and MaxRows.
func New(cols, rows int) *Screen {
	s := &Screen{cols: clamp(cols, 1, MaxCols), rows: clamp(rows, 1, MaxRows)}
	s.reset()
	return s
}

// reset is RIS: all but the title as in a new screen.
func (s *Screen) reset() {
	used := s.links.used
	*s = Screen{cols: s.cols, rows: s.rows, title: s.title, faults: s.faults, grids: s.grids, active: s.active, spare: s.spare}
	s.links.used = used
	s.switchTo(onMain)
	s.bottom = s.rows - 1
	s.grids[onMain] = s.grids[onMain].renew(s.cols, s.rows)
	s.modes.reset()
	s.tabs.reset()
}

// Size returns the columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Write feeds output of the program.
//
// The output is hostile and this is a few hundred branches, so a fault in them
// costs the screen (it is emptied, and redrawn when the program next does), not
// the daemon.
func (s *Screen) Write(p []byte) {
	defer func() {
		if recover() != nil {
			fresh := New(s.cols, s.rows) // nothing of the old state can be trusted
			fresh.faults = s.faults + 1
			*s = *fresh
		}
	}()
	s.write(p)
}

// Faults counts the writes the emulator failed on: each is a defect to report.
func (s *Screen) Faults() int { return s.faults }

// Resize changes the size as xterm does: no reflow, rows below the cursor go
// first, and what no longer fits is gone. Programs redraw on SIGWINCH.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = clamp(cols, 1, MaxCols), clamp(rows, 1, MaxRows)
	if cols == s.cols && rows == s.rows {
		return
	}
	for i := range s.grids {
		if s.grids[i].cells == nil {
			continue
		}
		at := &s.saved[i]
		if i == s.active {
			at = &s.cursor
		}
		gone := s.grids[i].resize(cols, rows, at.y)
		at.y -= gone
		if i == s.active {
			s.saved[i].y -= gone
		}
	}
	s.cols, s.rows, s.spare = cols, rows, grid{}
	s.sweepClusters()
	s.top, s.bottom = 0, rows-1
	s.last = 0
	s.cursor.fit(cols, rows)
	s.saved[onMain].fit(cols, rows)
	s.saved[onAlt].fit(cols, rows)
}

func (c *cursor) fit(cols, rows int) {
	c.x, c.y, c.wrap = clamp(c.x, 0, cols-1), clamp(c.y, 0, rows-1), false
}

// switchTo shows the other grid. The alternate one starts empty and is given up
// when it is left, as in tmux and xterm.js. Its memory is used again: a program
// that switches all the time must not keep the collector busy.
func (s *Screen) switchTo(which int) {
	if s.active == which {
		return
	}
	s.active, s.wrap = which, false
	s.keyboard[onAlt], s.saved[onAlt] = keyboard{}, cursor{}
	if which == onAlt {
		s.grids[onAlt], s.spare = s.spare.renew(s.cols, s.rows), grid{}
	} else {
		s.grids[onAlt], s.spare = grid{}, s.grids[onAlt]
	}
}

func (s *Screen) line(y int) []cell { return s.grids[s.active].line(y) }

func clamp(v, lo, hi int) int { return max(lo, min(v, hi)) }
