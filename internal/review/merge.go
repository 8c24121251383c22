package review

import (
	"slices"
	"strings"

	"github.com/coop-dev/coop/internal/changes/patch"
)

// span is a run of lines of the base and what one side has made of it.
type span struct {
	from, to int // lines of the base
	lines    []string
}

// merge brings together what two sides have made of a base, line by line. It
// gives up where both have changed the same lines, or lines that touch each
// other, into different things: whoever merges a guess has to find it again.
func merge(base, ours, theirs []byte) (merged []byte, clean bool) {
	lines := splitLines(string(base))
	a, b := spans(base, ours), spans(base, theirs)
	var out []string
	at := 0
	for len(a) > 0 || len(b) > 0 {
		from, to, n, m := cluster(a, b)
		out = append(out, lines[at:from]...)
		x, y := rewrite(lines, from, to, a[:n]), rewrite(lines, from, to, b[:m])
		switch {
		case m == 0 || (n > 0 && slices.Equal(x, y)):
			out = append(out, x...)
		case n == 0:
			out = append(out, y...)
		default:
			return nil, false
		}
		at, a, b = to, a[n:], b[m:]
	}
	out = append(out, lines[at:]...)
	return []byte(strings.Join(out, "")), true
}

// cluster finds the first run of lines whose changes overlap or touch, and how
// many of each side's are in it.
func cluster(a, b []span) (from, to, n, m int) {
	switch {
	case len(b) == 0 || (len(a) > 0 && a[0].from <= b[0].from):
		from, to, n = a[0].from, a[0].to, 1
	default:
		from, to, m = b[0].from, b[0].to, 1
	}
	for {
		switch {
		case n < len(a) && a[n].from <= to:
			to = max(to, a[n].to)
			n++
		case m < len(b) && b[m].from <= to:
			to = max(to, b[m].to)
			m++
		default:
			return from, to, n, m
		}
	}
}

// rewrite is what one side has made of a run of lines.
func rewrite(lines []string, from, to int, changes []span) []string {
	var out []string
	for _, c := range changes {
		out = append(out, lines[from:c.from]...)
		out = append(out, c.lines...)
		from = c.to
	}
	return append(out, lines[from:to]...)
}

// spans are the changes of one side, without context.
func spans(base, side []byte) []span {
	var out []span
	for _, h := range patch.Diff(base, side) {
		out = append(out, hunkSpans(h)...)
	}
	return out
}

// hunkSpans are the runs of changed lines in a hunk.
func hunkSpans(h patch.Hunk) []span {
	at := h.OldStart
	if h.OldLines > 0 {
		at--
	}
	var out []span
	fresh := true
	for _, l := range h.Lines {
		if l.Op == ' ' {
			at, fresh = at+1, true
			continue
		}
		if fresh {
			out, fresh = append(out, span{from: at, to: at}), false
		}
		cur := &out[len(out)-1]
		if l.Op == '-' {
			at++
			cur.to = at
		} else {
			cur.lines = append(cur.lines, l.Text)
		}
	}
	return out
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
