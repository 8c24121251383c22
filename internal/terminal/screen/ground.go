package screen

import "unicode/utf8"

// writeGround reads text, controls and whole sequences straight from a chunk,
// which is nearly all output there is. It stops where something is cut or rare
// and returns what it has read, at least one byte.
func (s *Screen) writeGround(p []byte) int {
	flooded := 0 // up to here is nothing that skipFlood could skip
	for i := 0; i < len(p); {
		if i >= flooded {
			n, upTo := s.skipFlood(p[i:])
			flooded = i + upTo
			i += n
		}
		n := s.readOne(p[i:])
		if n == 0 {
			s.step(p[i])
			return i + 1
		}
		i += n
	}
	return len(p)
}

// readOne reads one run of text, control or sequence, 0 if it takes the parser
// to do it.
func (s *Screen) readOne(p []byte) int {
	switch c := p[0]; {
	case c >= 0x20 && c < del:
		n := printable(p)
		s.printASCII(p[:n])
		return n
	case c == esc:
		return s.readCSI(p)
	case c >= utf8.RuneSelf:
		return s.readRune(p)
	case c < 0x20:
		if c == can || c == sub {
			return 0
		}
		s.control(c)
	}
	return 1
}

func printable(p []byte) int {
	for i, c := range p {
		if c < 0x20 || c >= del {
			return i
		}
	}
	return len(p)
}

func (s *Screen) readRune(p []byte) int {
	if !utf8.FullRune(p) {
		return 0
	}
	r, n := decode(p)
	if r < 0xa0 {
		return 0
	}
	s.printRune(r)
	return n
}

func (s *Screen) readCSI(p []byte) int {
	n := wholeCSI(p)
	if n > 0 {
		s.dispatchCSI(p[2:n-1], p[n-1])
	}
	return n
}

// wholeCSI is the length of the control sequence at the start of p, 0 if there
// is none that is whole and free of controls.
func wholeCSI(p []byte) int {
	if len(p) < 3 || p[1] != '[' {
		return 0
	}
	for i, c := range p[2:min(len(p), maxCSI+1)] {
		if c >= 0x40 && c < del {
			return i + 3
		}
		if c < 0x20 || c >= del {
			return 0
		}
	}
	return 0
}
