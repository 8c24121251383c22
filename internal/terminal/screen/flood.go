package screen

import (
	"bytes"
	"strings"
)

// harmless are the final bytes of control sequences that change the row they
// are in, the column or the pen, and nothing else.
const harmless = "mKX@PCDG"

// skipFlood finds lines that will have scrolled off the screen before the end
// of the chunk: nobody can see them, so only what they do to the pen is done.
// It returns how many bytes that covers and up to where it has looked.
//
// It is exact. The bytes looked at can change the row only downwards. The lines
// before the cut bring the cursor to the bottom, and the `rows` line feeds
// after the cut then push out every row there was. The cut is after CR LF, so
// the column is known too.
func (s *Screen) skipFlood(p []byte) (skip, looked int) {
	looked = harmlessRun(p)
	run := p[:looked]
	if s.top != 0 || s.bottom != s.rows-1 || s.single != 0 || looked < 4*s.rows {
		return 0, max(looked, lookAgain)
	}
	if bytes.Count(run, []byte{'\n'}) < 2*s.rows {
		return 0, looked
	}
	cut := looked
	for range s.rows + 1 {
		if cut = bytes.LastIndexByte(run[:cut], '\n'); cut < 0 {
			return 0, looked
		}
	}
	for cut > 0 && run[cut-1] != '\r' {
		if cut = bytes.LastIndexByte(run[:cut], '\n'); cut < 0 {
			return 0, looked
		}
	}
	if cut <= 0 || bytes.Count(run[:cut], []byte{'\n'}) < s.rows {
		return 0, looked
	}
	s.penOnly(run[:cut])
	s.x, s.y, s.wrap, s.last = 0, s.rows-1, false, 0
	return cut + 1, looked
}

// Looking ahead costs the same for every byte of any input: it goes on block by
// block, and after a short run it is not tried again for a while.
const (
	lookBlock = 4096
	lookAgain = 1024
)

// harmlessRun is the length of the start of p that holds only text, controls
// that move down or within a row, and harmless control sequences.
func harmlessRun(p []byte) int {
	end := 0
	for end < len(p) {
		block := p[end:min(len(p), end+lookBlock)]
		n := harmlessBlock(block)
		end += n
		// A sequence that the block cuts starts the next one.
		if n < len(block) && (n == 0 || len(block)-n > maxCSI) {
			break
		}
	}
	return end
}

func harmlessBlock(p []byte) int {
	end := 0
	for {
		i := bytes.IndexByte(p[end:], esc)
		if i < 0 {
			end = len(p)
			break
		}
		n := wholeCSI(p[end+i:])
		if n == 0 || !plainCSI(p[end+i+2:end+i+n]) {
			end += i
			break
		}
		end += i + n
	}
	for _, c := range []byte{'\x0e', '\x0f'} { // shifts outlive their line
		if i := bytes.IndexByte(p[:end], c); i >= 0 {
			end = i
		}
	}
	return beforeC1(p[:end])
}

func plainCSI(body []byte) bool {
	if body[0] >= '<' && body[0] <= '?' {
		return false
	}
	last := len(body) - 1
	return strings.IndexByte(harmless, body[last]) >= 0 && (last == 0 || body[last-1] >= '0')
}

// beforeC1 is the length of the start of p without C1 controls in UTF-8.
func beforeC1(p []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(p[at:], 0xc2)
		if i < 0 {
			return len(p)
		}
		at += i
		if at+1 == len(p) || p[at+1] < 0xa0 {
			return at
		}
		at++
	}
}

// penOnly does what skipped output does to the pen, from its last reset on.
func (s *Screen) penOnly(p []byte) {
	for p = p[lastReset(p):]; ; {
		i := bytes.IndexByte(p, esc)
		if i < 0 {
			return
		}
		n := wholeCSI(p[i:])
		if p[i+n-1] == 'm' && s.params.parse(p[i+2:i+n-1]) {
			s.sgr()
		}
		p = p[i+n:]
	}
}

func lastReset(p []byte) int {
	if bytes.IndexByte(p, esc) < 0 {
		return len(p)
	}
	for i := len(p); ; {
		if i = bytes.LastIndexByte(p[:i], esc); i < 0 {
			return 0
		}
		if at := p[i:]; bytes.HasPrefix(at, []byte("\x1b[m")) || bytes.HasPrefix(at, []byte("\x1b[0m")) {
			return i
		}
	}
}
