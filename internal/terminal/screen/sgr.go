package screen

// style is how a character looks. Its link is an index into the link table.
type style struct {
	fg, bg, ul color
	attr       attr
	link       uint16
}

// color is a kind and a value; 0 is the default colour.
type color uint32

const (
	basic   color = 1 << 24 // 0–15 by 30–37 and 90–97: bold may brighten it
	indexed color = 2 << 24
	rgb     color = 3 << 24
)

type attr uint16

const (
	bold attr = 1 << iota
	faint
	italic
	blink
	reverse
	conceal
	strike
	overline
	underline attr = 1 << 8 // times its style 1–5: three bits
)

const underlineMask = 7 * underline

// sgr applies the parameters to the pen.
func (s *Screen) sgr() {
	p := &s.params
	for i := 0; i < p.n; {
		i = s.sgrOne(p, i)
		for p.sub[i] { // what nobody took of its sub-parameters
			i++
		}
	}
}

// sgrOne applies parameter i and returns the next one.
func (s *Screen) sgrOne(p *params, i int) int {
	pen := &s.pen
	switch v := p.v[i]; {
	case v == 0:
		*pen = style{link: pen.link}
	case v == 4 && p.sub[i+1]:
		pen.underline(p.v[i+1])
	case v == 4:
		pen.underline(1)
	case v == 21:
		pen.underline(2)
	case v < 30:
		pen.attribute(v)
	case v < 38:
		pen.fg = basic | color(v-30)
	case v == 38:
		return p.color(i, &pen.fg)
	case v == 39:
		pen.fg = 0
	case v < 48:
		pen.bg = basic | color(v-40)
	case v == 48:
		return p.color(i, &pen.bg)
	case v == 49:
		pen.bg = 0
	case v == 53:
		pen.attr |= overline
	case v == 55:
		pen.attr &^= overline
	case v == 58:
		return p.color(i, &pen.ul)
	case v == 59:
		pen.ul = 0
	case v >= 90 && v < 98:
		pen.fg = basic | color(v-90+8)
	case v >= 100 && v < 108:
		pen.bg = basic | color(v-100+8)
	}
	return i + 1
}

func (t *style) underline(how int) {
	t.attr &^= underlineMask
	if how <= 5 {
		t.attr |= attr(how) * underline
	}
}

// attribute is SGR 1 to 29.
func (t *style) attribute(v int) {
	switch v {
	case 1:
		t.attr |= bold
	case 2:
		t.attr |= faint
	case 3:
		t.attr |= italic
	case 5, 6:
		t.attr |= blink
	case 7:
		t.attr |= reverse
	case 8:
		t.attr |= conceal
	case 9:
		t.attr |= strike
	case 22:
		t.attr &^= bold | faint
	case 23:
		t.attr &^= italic
	case 24:
		t.attr &^= underlineMask
	case 25:
		t.attr &^= blink
	case 27:
		t.attr &^= reverse
	case 28:
		t.attr &^= conceal
	case 29:
		t.attr &^= strike
	}
}

// color reads 38, 48 or 58 at i in all its spellings: 38;5;n 38;2;r;g;b 38:5:n
// 38:2:r:g:b 38:2:space:r:g:b. It returns the parameter after it.
func (p *params) color(i int, to *color) int {
	end := i + 1
	for end < p.n && p.sub[end] {
		end++
	}
	colons := end > i+1
	if !colons {
		end = p.n
	}
	a := p.v[i+1 : end]
	switch {
	case len(a) >= 2 && a[0] == 5:
		if a[1] <= 255 {
			*to = indexed | color(a[1])
		}
		return p.afterColor(i+3, end, colons)
	case len(a) >= 4 && a[0] == 2:
		c := a[1:4]
		if colons && len(a) >= 5 {
			c = a[2:5]
		}
		if max(c[0], c[1], c[2]) <= 255 {
			*to = rgb | color(c[0]<<16|c[1]<<8|c[2])
		}
		return p.afterColor(i+5, end, colons)
	}
	return end
}

func (p *params) afterColor(next, end int, colons bool) int {
	if colons {
		return end
	}
	return next
}
