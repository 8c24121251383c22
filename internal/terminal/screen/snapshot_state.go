package screen

import "fmt"

// region sets the scroll region; from then on origin mode counts from it.
func (w *painter) region() {
	if w.s.top != 0 || w.s.bottom != w.s.rows-1 {
		w.csi("r", w.s.top+1, w.s.bottom+1)
		w.regionSet = true
	}
}

func (w *painter) top() int {
	if w.regionSet {
		return w.s.top
	}
	return 0
}

func (w *painter) tabStops() {
	w.text("\x1b[3g")
	for x := range w.s.cols {
		if w.s.tabs.has(x) {
			w.csi("G\x1bH", x+1)
		}
	}
}

func (w *painter) charsets(c charsets) {
	for i, final := range c.g {
		if final != 0 {
			w.b = append(w.b, esc, "()*+"[i], final)
		}
	}
	w.text([]string{"", "\x0e", "\x1bn", "\x1bo"}[c.gl])
}

func (w *painter) keyboard(which int) {
	k := &w.s.keyboard[which]
	if k.flags[0] != 0 {
		w.b = fmt.Appendf(w.b, "\x1b[=%d;1u", k.flags[0])
	}
	for _, flags := range k.flags[1 : k.depth+1] {
		w.b = fmt.Appendf(w.b, "\x1b[>%du", flags)
	}
}

// modes sets them all, for the terminal may have been left in any.
func (w *painter) modes() {
	m := &w.s.modes
	w.text(modesOff)
	for _, o := range m.numbered() {
		if o.set {
			w.b = fmt.Appendf(w.b, "\x1b[?%dh", o.number)
		}
	}
	w.triState(12, m.blinking)
	w.triState(1007, m.altWheel)
	w.text(pick(m.keypad, "\x1b=", "\x1b>"))
	w.text(pick(m.newline, "\x1b[20h", ""))
	w.text(pick(m.insert, "\x1b[4h", ""))
	w.text(pick(m.hidden, "", "\x1b[?25h"))
	if m.shape != 0 {
		w.csi(" q", int(m.shape)-1)
	}
	w.text("\x1b[?2026l")
}

// otherKeys comes before the pen, because there are terminals that take it for
// an underline.
func (w *painter) otherKeys() {
	w.text("\x1b[>4")
	if n := w.s.modes.otherKeys; n != 0 {
		w.b = fmt.Appendf(w.b, ";%d", n)
	}
	w.plainly("m\x1b[m")
}

type numberedMode struct {
	number int
	set    bool
}

func (m *modes) numbered() []numberedMode {
	return []numberedMode{
		{1, m.appCursor},
		{5, m.reverseVideo},
		{7, m.autowrap},
		{m.mouse, m.mouse != 0},
		{m.mouseCode, m.mouseCode != 0},
		{1004, m.focus},
		{2004, m.paste},
	}
}

func (w *painter) triState(mode int, t triState) {
	if t != untouched {
		w.b = fmt.Appendf(w.b, "\x1b[?%d%s", mode, pick(t == on, "h", "l"))
	}
}

func pick(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

// lastCharacter prints the character before the cursor once more, so that REP
// and combining marks that follow find it. In insert mode that would shift the
// row.
func (w *painter) lastCharacter() {
	s := w.s
	if s.last != 0 && !s.insert {
		y := s.y
		if s.origin {
			y -= s.top
		}
		w.csi("H", y+1, s.lastX+1)
		w.b = append(w.b, string(s.last)...)
	}
	if s.single != 0 {
		w.b = append(w.b, esc, 'N'+s.single-2)
	}
}

// appendPending adds what was cut, so that live output can go on with the rest.
// Strings go on as ones that mean nothing to any terminal: the rest of a
// clipboard command must not become part of a replay.
func (s *Screen) appendPending(b []byte) []byte {
	switch s.state {
	case osc:
		b = append(b, "\x1b]7777;"...)
	case dcs:
		b = append(b, "\x1bP0z"...)
	case sos:
		b = append(b, "\x1b^"...)
	case escape, csi:
		b = append(b, s.raw...)
	}
	return append(b, s.part[:s.nPart]...)
}
