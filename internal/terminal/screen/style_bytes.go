package screen

import "strconv"

// appendSGR appends the sequence that sets a style (but its link) from any.
func (t style) appendSGR(b []byte) []byte {
	return append(t.appendParams(append(b, "\x1b["...)), 'm')
}

// appendParams appends the parameters, none for the default style.
func (t style) appendParams(b []byte) []byte {
	t.link = 0
	if t == (style{}) {
		return b
	}
	b = append(b, '0')
	for i, code := range [...]string{";1", ";2", ";3", ";5", ";7", ";8", ";9", ";53"} {
		if t.attr&(1<<i) != 0 {
			b = append(b, code...)
		}
	}
	switch u := t.attr & underlineMask / underline; {
	case u == 1:
		b = append(b, ";4"...)
	case u > 1: // with a colon: a terminal that does not know it ignores it
		b = append(b, ";4:"...)
		b = append(b, '0'+byte(u))
	}
	b = t.fg.append(b, 30, 90)
	b = t.bg.append(b, 40, 100)
	return t.ul.appendUnderline(b)
}

func (c color) value() int { return int(c & (1<<24 - 1)) }

func (c color) append(b []byte, normal, bright int) []byte {
	v := c.value()
	switch c &^ (1<<24 - 1) {
	case basic:
		if v >= 8 {
			return appendNumbers(b, ';', bright+v-8)
		}
		return appendNumbers(b, ';', normal+v)
	case indexed:
		return appendNumbers(b, ';', normal+8, 5, v)
	case rgb:
		return appendNumbers(b, ';', normal+8, 2, v>>16, v>>8&255, v&255)
	}
	return b
}

// appendUnderline uses colons: terminals without coloured underlines would take
// 58;5;1 for blinking and bold.
func (c color) appendUnderline(b []byte) []byte {
	v := c.value()
	switch c &^ (1<<24 - 1) {
	case indexed:
		return appendNumbers(append(b, ";58:5"...), ':', v)
	case rgb:
		return appendNumbers(append(b, ";58:2:"...), ':', v>>16, v>>8&255, v&255)
	}
	return b
}

func appendNumbers(b []byte, sep byte, n ...int) []byte {
	for _, v := range n {
		b = strconv.AppendInt(append(b, sep), int64(v), 10)
	}
	return b
}
