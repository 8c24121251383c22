package screen

import (
	"bytes"
	"strings"
	"unicode"
)

// dispatchOSC acts on the operating system commands that are part of what a
// screen shows: titles and links. The clipboard, colours and all others are
// commands to the user's terminal, and none of a program's business here.
func (s *Screen) dispatchOSC(b []byte) {
	number, text, ok := bytes.Cut(b, []byte{';'})
	if !ok {
		return
	}
	switch string(number) {
	case "0", "2":
		s.name = cleanTitle(string(text))
	case "8":
		params, uri, _ := bytes.Cut(text, []byte{';'})
		s.setLink(string(params), string(uri))
	}
}

// title is the window title and the stack that programs put it on.
type title struct {
	name  string
	stack []string
}

const (
	maxTitle      = 256 // runes
	maxTitleStack = 10
)

// Title is the window title the program asked for, in one line of printable
// characters.
func (s *Screen) Title() string { return s.name }

// cleanTitle keeps what can be printed anywhere: no controls, and none of the
// invisible characters that reorder text.
func cleanTitle(t string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.ToValidUTF8(t, "\uFFFD") {
		if !unicode.IsPrint(r) {
			continue
		}
		if n++; n > maxTitle {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// windowOp pushes and pops the title; all else would move or report the window.
func (s *Screen) windowOp() {
	if what := s.params.at(1, 0); what != 0 && what != 2 {
		return
	}
	switch n := len(s.stack); s.params.v[0] {
	case 22:
		if n < maxTitleStack {
			s.stack = append(s.stack, s.name)
		}
	case 23:
		if n > 0 {
			s.name, s.stack = s.stack[n-1], s.stack[:n-1]
		}
	}
}
