package tty

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// cell is one place on a screen, as a person sees it.
type cell struct {
	glyph string // with what combines with it
	look  look
}

// look is how a glyph is drawn.
type look struct {
	fg, bg, under string
	flags         [10]bool // by the number of SGR: bold is 1
	over          bool
}

// blank cells at the end of a line look the same whether they were written or
// never touched.
func (c cell) blank() bool { return c.glyph == " " && c.look == look{} }

// parseCells reads what tmux tells of a screen: glyphs with SGR sequences and
// shifts to the line-drawing set between them, which go on from line to line.
func parseCells(text string) [][]cell {
	var lines [][]cell
	var now look
	drawing := false
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var row []cell
		for len(line) > 0 {
			r, n := utf8.DecodeRuneInString(line)
			glyph := line[:n]
			line = line[n:]
			switch {
			case r == 0x1b:
				var params string
				params, line, _ = strings.Cut(strings.TrimPrefix(line, "["), "m")
				now = now.apply(params)
			case r == 0x0e || r == 0x0f:
				drawing = r == 0x0e
			case r == 0x0301 && len(row) > 0: // the only one the program uses
				row[len(row)-1].glyph += glyph
			default:
				if drawing {
					glyph = lineDrawing(glyph)
				}
				row = append(row, cell{glyph, now})
			}
		}
		for len(row) > 0 && row[len(row)-1].blank() {
			row = row[:len(row)-1]
		}
		lines = append(lines, row)
	}
	return lines
}

// lineDrawing is a glyph of the DEC special set, those that the program draws.
func lineDrawing(glyph string) string {
	const from, to = "lqkxmj", "┌─┐│└┘"
	if i := strings.Index(from, glyph); i >= 0 {
		return string([]rune(to)[i])
	}
	return glyph
}

// apply is the look after an SGR sequence, ECMA-48 and ITU-T T.416.
func (l look) apply(params string) look {
	codes := strings.Split(params, ";")
	for i := 0; i < len(codes); i++ {
		base, style, _ := strings.Cut(codes[i], ":")
		n, _ := strconv.Atoi(base) // an empty one is 0
		switch {
		case n == 0:
			l = look{}
		case n <= 9:
			l.flags[n] = style != "0"
		case n == 22:
			l.flags[1], l.flags[2] = false, false
		case n >= 23 && n <= 29:
			l.flags[n-20] = false
		case n == 53 || n == 55:
			l.over = n == 53
		case n == 38 || n == 48 || n == 58:
			size := 3
			if i+1 < len(codes) && codes[i+1] == "2" {
				size = 5
			}
			end := min(i+size, len(codes))
			*l.colour(n) = strings.Join(codes[i+1:end], ";")
			i = end - 1
		case n == 39 || n == 49 || n == 59:
			*l.colour(n - 1) = ""
		case n >= 30 && n <= 37 || n >= 90 && n <= 97:
			l.fg = base
		case n >= 40 && n <= 47 || n >= 100 && n <= 107:
			l.bg = base
		}
	}
	return l
}

func (l *look) colour(n int) *string {
	switch n {
	case 38:
		return &l.fg
	case 48:
		return &l.bg
	}
	return &l.under
}

func TestCells(t *testing.T) {
	plain := parseCells("a\x1b[1;38;5;3mb\x1b[0m  \n\x1b[44m \x1b[49mx\x0elq\x0fe\u0301")
	if len(plain) != 2 || len(plain[0]) != 2 || plain[0][1].look.fg != "5;3" || !plain[0][1].look.flags[1] {
		t.Errorf("%+v", plain)
	}
	if row := plain[1]; len(row) != 5 || row[0].look.bg != "44" || row[1].look != (look{}) || row[2].glyph != "┌" || row[4].glyph != "e\u0301" {
		t.Errorf("%+v", row)
	}
}
