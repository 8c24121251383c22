package patch

import (
	"fmt"
	"strconv"
)

// context is how many unchanged lines go around a change.
const context = 3

// NoNewline is the line that follows one without a line feed.
const NoNewline = `\ No newline at end of file`

// Diff computes the hunks from old to new, with three lines of context.
func Diff(old, new []byte) []Hunk {
	a, b := split(string(old)), split(string(new))
	gone, fresh := compare(number(a, b))
	h := hunker{a: a, b: b}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		from, to := i, j
		for i < len(a) && gone[i] {
			i++
		}
		for j < len(b) && fresh[j] {
			j++
		}
		if i > from || j > to {
			h.change(from, i, to, j)
			continue
		}
		i, j = i+1, j+1
	}
	h.finish()
	return h.list
}

// hunker puts changes that are near each other into one hunk.
type hunker struct {
	a, b []string
	list []Hunk
	cur  *Hunk
	i, j int // up to where the current hunk has taken both sides
}

// change adds a[i0:i1] → b[j0:j1].
func (h *hunker) change(i0, i1, j0, j1 int) {
	if h.cur != nil && i0-h.i > 2*context {
		h.finish()
	}
	if h.cur == nil {
		lead := min(context, i0)
		h.cur = &Hunk{Index: len(h.list), OldStart: i0 - lead, NewStart: j0 - lead}
		h.i, h.j = i0-lead, j0-lead
	}
	h.equal(i0 - h.i)
	for _, l := range h.a[i0:i1] {
		h.cur.Lines = append(h.cur.Lines, Line{'-', l})
	}
	for _, l := range h.b[j0:j1] {
		h.cur.Lines = append(h.cur.Lines, Line{'+', l})
	}
	h.i, h.j = i1, j1
}

func (h *hunker) equal(n int) {
	for _, l := range h.a[h.i : h.i+n] {
		h.cur.Lines = append(h.cur.Lines, Line{' ', l})
	}
	h.i, h.j = h.i+n, h.j+n
}

// finish ends the current hunk with its trailing context.
func (h *hunker) finish() {
	if h.cur == nil {
		return
	}
	h.equal(min(context, len(h.a)-h.i))
	h.cur.OldLines, h.cur.NewLines = h.i-h.cur.OldStart, h.j-h.cur.NewStart
	if h.cur.OldLines > 0 {
		h.cur.OldStart++
	}
	if h.cur.NewLines > 0 {
		h.cur.NewStart++
	}
	h.list, h.cur = append(h.list, *h.cur), nil
}

// Header is the hunk's "@@ -a,b +c,d @@".
func (h Hunk) Header() string {
	return "@@ -" + span(h.OldStart, h.OldLines) + " +" + span(h.NewStart, h.NewLines) + " @@"
}

func span(start, lines int) string {
	if lines == 1 {
		return strconv.Itoa(start)
	}
	return strconv.Itoa(start) + "," + strconv.Itoa(lines)
}

// Text gives the lines as they stand in a patch, without their line feeds.
func (h Hunk) Text() []string {
	out := make([]string, 0, len(h.Lines)+1)
	for _, l := range h.Lines {
		if n := len(l.Text) - 1; n >= 0 && l.Text[n] == '\n' {
			out = append(out, string(l.Op)+l.Text[:n])
			continue
		}
		out = append(out, string(l.Op)+l.Text, NoNewline)
	}
	return out
}

func (h Hunk) append(b []byte) []byte {
	b = append(append(b, h.Header()...), '\n')
	for _, l := range h.Lines {
		b = append(append(b, l.Op), l.Text...)
		if n := len(l.Text); n == 0 || l.Text[n-1] != '\n' {
			b = append(b, "\n"+NoNewline+"\n"...)
		}
	}
	return b
}

// Apply applies those hunks that pick chooses to old. Hunks that are not chosen
// leave their part of old as it is. Hunks that do not fit old are an error.
func Apply(old []byte, hunks []Hunk, pick func(index int) bool) ([]byte, error) {
	lines := split(string(old))
	var out []byte
	at := 0
	for _, h := range hunks {
		start := h.OldStart
		if h.OldLines > 0 {
			start--
		}
		if start < at || start+h.OldLines > len(lines) || !h.fits(lines[start:start+h.OldLines]) {
			return nil, fmt.Errorf("apply hunk %d: the content is another one", h.Index)
		}
		out = appendLines(out, lines[at:start])
		if at = start + h.OldLines; pick(h.Index) {
			out = h.appendSide(out, '-')
		} else {
			out = appendLines(out, lines[start:at])
		}
	}
	return appendLines(out, lines[at:]), nil
}

func appendLines(out []byte, lines []string) []byte {
	for _, l := range lines {
		out = append(out, l...)
	}
	return out
}

// appendSide appends the lines that are not only on the other side.
func (h Hunk) appendSide(out []byte, other byte) []byte {
	for _, l := range h.Lines {
		if l.Op != other {
			out = append(out, l.Text...)
		}
	}
	return out
}

// fits reports whether the hunk's old side is these lines.
func (h Hunk) fits(lines []string) bool {
	n := 0
	for _, l := range h.Lines {
		if l.Op == '+' {
			continue
		}
		if n >= len(lines) || lines[n] != l.Text {
			return false
		}
		n++
	}
	return n == len(lines)
}
