package screen

// charsets are the four sets a program has designated and the one in use. The
// zero value is ASCII in all of them.
type charsets struct {
	g  [4]byte // 0 for ASCII, or the final byte of the designation
	gl uint8
}

func (c *charsets) ascii() bool { return c.g[c.gl] == 0 }

// designate is ESC ( and its kin. All sets but line drawing and the British
// one are ASCII in a UTF-8 terminal.
func (c *charsets) designate(which int, final byte) {
	if final != '0' && final != 'A' {
		final = 0
	}
	c.g[which] = final
}

func (s *Screen) translate(r rune) rune {
	set := s.sets.g[s.sets.gl]
	if s.single != 0 {
		set = s.sets.g[s.single]
	}
	switch {
	case set == '0' && r >= 0x5f && r < del:
		return lineDrawing[r-0x5f]
	case set == 'A' && r == '#':
		return '£'
	}
	return r
}

// lineDrawing is DEC Special Graphics, 0x5f to 0x7e.
var lineDrawing = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
	'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}
