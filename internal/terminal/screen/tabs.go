package screen

import "math/bits"

// tabStops has a bit for each column there can be. The first column has none:
// nothing tabs forward to it, and backwards it is the end anyway.
type tabStops [(MaxCols + 63) / 64]uint64

func (t *tabStops) reset() {
	for i := range t {
		t[i] = 0x0101010101010101
	}
	t.set(0, false)
}

func (t *tabStops) has(x int) bool { return t[x/64]&(1<<(x%64)) != 0 }

func (t *tabStops) set(x int, on bool) {
	t[x/64] &^= 1 << (x % 64)
	if on && x > 0 {
		t[x/64] |= 1 << (x % 64)
	}
}

// clear is TBC.
func (t *tabStops) clear(how, x int) {
	switch how {
	case 0:
		t.set(x, false)
	case 3:
		*t = tabStops{}
	}
}

// next is the first stop right of x, or past the last column.
func (t *tabStops) next(x int) int {
	for i, mask := (x+1)/64, ^uint64(0)<<((x+1)%64); i < len(t); i, mask = i+1, ^uint64(0) {
		if w := t[i] & mask; w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	return len(t) * 64
}

func (s *Screen) tab(n int) {
	for ; n > 0 && s.x < s.cols-1; n-- {
		s.x = min(s.tabs.next(s.x), s.cols-1)
	}
}

func (s *Screen) backTab(n int) {
	s.wrap = false
	for ; n > 0 && s.x > 0; n-- {
		for s.x--; s.x > 0 && !s.tabs.has(s.x); s.x-- {
		}
	}
}
