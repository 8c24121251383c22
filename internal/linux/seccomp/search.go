package seccomp

import (
	"maps"
	"slices"
)

// span is a run of system call numbers, up to the next span's first, that all
// get the same answer.
type span struct {
	first  uint32
	answer block
}

// spans lays the policy over the number line. A known call that the policy does
// not name is refused; a number the table does not know is ENOSYS, which is what
// libraries take as "older kernel" and fall back on.
func spans(pol policy, t target) []span {
	answers := make(map[uint32]block, len(t.numbers))
	for name, number := range t.numbers {
		answers[number] = deny()
		if rule, ok := pol[name]; ok {
			answers[number] = rule
		}
	}
	last := slices.Max(slices.Collect(maps.Keys(answers)))

	var out []span
	for number := uint32(0); number <= last+1; number++ {
		answer, ok := answers[number]
		if !ok {
			answer = nosys()
		}
		if len(out) == 0 || !slices.Equal(out[len(out)-1].answer, answer) {
			out = append(out, span{number, answer})
		}
	}
	return out
}

// search is a balanced binary search for the loaded number. It uses no
// argument, so the kernel (5.11 and later) sees that a call is always allowed
// and then does not run the program for it at all.
func search(s []span) block {
	if len(s) == 1 {
		return s[0].answer
	}
	mid := len(s) / 2
	number := operand{offset: offsetNumber}
	return branch(number.atLeast(s[mid].first), search(s[mid:]), search(s[:mid]))
}
