package patch

// maxSteps bounds the search for the shortest difference, in proportion to what
// there is to search. What is left then is replaced as a whole, which is longer
// but just as right. Without a bound two texts made for it take hours.
func maxSteps(lines int) int { return 1_000_000 + 32*lines }

// minCost is how many differing lines a part may have before the search settles
// for a good split instead of the best one.
const minCost = 256

// compare marks the lines of a that are gone and those of b that are new.
func compare(a, b []int32) (gone, fresh []bool) {
	gone, fresh = make([]bool, len(a)), make([]bool, len(b))
	lead := common(a, b)
	a, b = a[lead:], b[lead:]
	tail := commonEnd(a, b)
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	x, xAt := shared(a, b, gone[lead:])
	y, yAt := shared(b, a, fresh[lead:])
	s := newSearch(x, y)
	s.run()
	for i, at := range xAt {
		gone[lead+at] = s.gone[i]
	}
	for i, at := range yAt {
		fresh[lead+at] = s.fresh[i]
	}
	return gone, fresh
}

func common(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonEnd(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// shared gives the lines of a that b has too, and where they were. All others
// are marked at once: no search can find a partner for them.
func shared(a, b []int32, marks []bool) (lines []int32, at []int) {
	in := make(map[int32]struct{}, len(b))
	for _, n := range b {
		in[n] = struct{}{}
	}
	for i, n := range a {
		if _, ok := in[n]; !ok {
			marks[i] = true
			continue
		}
		lines, at = append(lines, n), append(at, i)
	}
	return lines, at
}

// box is a part of both texts that is still to be compared.
type box struct{ a0, a1, b0, b1 int }

// search is Myers' divide and conquer ("An O(ND) Difference Algorithm", 1986,
// §4b): from both ends at once to a point in the middle of a shortest path, then
// the same for the two halves. A diagonal is the difference of the positions.
type search struct {
	a, b        []int32
	gone, fresh []bool
	ahead, back []int // furthest position in a, by diagonal
	zero        int   // index of diagonal 0
	cost, steps int
}

func newSearch(a, b []int32) *search {
	n := len(a) + len(b) + 3
	s := &search{
		a: a, b: b, gone: make([]bool, len(a)), fresh: make([]bool, len(b)),
		ahead: make([]int, n), back: make([]int, n), zero: len(b) + 1, cost: minCost, steps: maxSteps(len(a) + len(b)),
	}
	for s.cost*s.cost < n {
		s.cost *= 2
	}
	return s
}

func (s *search) run() {
	todo := []box{{0, len(s.a), 0, len(s.b)}}
	for len(todo) > 0 {
		x := s.trim(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if x.a0 == x.a1 || x.b0 == x.b1 {
			s.replace(x)
			continue
		}
		i, j := s.middle(x)
		if s.steps <= 0 || (i == x.a0 && j == x.b0) || (i == x.a1 && j == x.b1) {
			s.replace(x)
			continue
		}
		todo = append(todo, box{i, x.a1, j, x.b1}, box{x.a0, i, x.b0, j})
	}
}

// trim takes equal lines off both ends.
func (s *search) trim(x box) box {
	n := common(s.a[x.a0:x.a1], s.b[x.b0:x.b1])
	x.a0, x.b0 = x.a0+n, x.b0+n
	n = commonEnd(s.a[x.a0:x.a1], s.b[x.b0:x.b1])
	x.a1, x.b1 = x.a1-n, x.b1-n
	return x
}

func (s *search) replace(x box) {
	for i := x.a0; i < x.a1; i++ {
		s.gone[i] = true
	}
	for i := x.b0; i < x.b1; i++ {
		s.fresh[i] = true
	}
}

// front is the range of diagonals that one direction has reached.
type front struct{ low, high int }

// middle finds a point to split at.
func (s *search) middle(x box) (i, j int) {
	first, last := x.a0-x.b0, x.a1-x.b1
	odd := (first-last)&1 != 0
	f, b := front{first, first}, front{last, last}
	s.ahead[s.zero+first], s.back[s.zero+last] = x.a0, x.a1
	for cost := 1; ; cost++ {
		f = s.widen(f, x, s.ahead, -1)
		for d := f.high; d >= f.low; d -= 2 {
			i := s.forward(x, d)
			if odd && b.low <= d && d <= b.high && s.back[s.zero+d] <= i {
				return i, i - d
			}
		}
		b = s.widen(b, x, s.back, len(s.a)+1)
		for d := b.high; d >= b.low; d -= 2 {
			i := s.backward(x, d)
			if !odd && f.low <= d && d <= f.high && i <= s.ahead[s.zero+d] {
				return i, i - d
			}
		}
		if cost >= s.cost || s.steps <= 0 {
			return s.furthest(x, f, b)
		}
	}
}

// widen takes in one more diagonal at each end, as far as there are any; at the
// border of the box it goes back by one, to keep the parity.
func (s *search) widen(f front, x box, reach []int, unset int) front {
	if f.low > x.a0-x.b1 {
		f.low--
		reach[s.zero+f.low-1] = unset
	} else {
		f.low++
	}
	if f.high < x.a1-x.b0 {
		f.high++
		reach[s.zero+f.high+1] = unset
	} else {
		f.high--
	}
	return f
}

// forward goes on along diagonal d as far as lines are equal.
func (s *search) forward(x box, d int) int {
	k := s.zero + d
	i := s.ahead[k+1]
	if s.ahead[k-1] >= i {
		i = s.ahead[k-1] + 1
	}
	from := i
	for i < x.a1 && i-d < x.b1 && s.a[i] == s.b[i-d] {
		i++
	}
	s.steps -= 1 + i - from
	s.ahead[k] = i
	return i
}

// backward is forward from the other end.
func (s *search) backward(x box, d int) int {
	k := s.zero + d
	i := s.back[k+1] - 1
	if s.back[k-1] <= i {
		i = s.back[k-1]
	}
	from := i
	for i > x.a0 && i-d > x.b0 && s.a[i-1] == s.b[i-1-d] {
		i--
	}
	s.steps -= 1 + from - i
	s.back[k] = i
	return i
}

// furthest is where either direction has come furthest.
func (s *search) furthest(x box, f, b front) (i, j int) {
	fi, fj := x.a0, x.b0
	for d := f.high; d >= f.low; d -= 2 {
		i := min(s.ahead[s.zero+d], x.a1, x.b1+d)
		if i+i-d > fi+fj {
			fi, fj = i, i-d
		}
	}
	bi, bj := x.a1, x.b1
	for d := b.high; d >= b.low; d -= 2 {
		i := max(s.back[s.zero+d], x.a0, x.b0+d)
		if i+i-d < bi+bj {
			bi, bj = i, i-d
		}
	}
	if x.a1+x.b1-bi-bj < fi+fj-x.a0-x.b0 {
		return fi, fj
	}
	return bi, bj
}
