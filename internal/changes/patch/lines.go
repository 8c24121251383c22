package patch

import "strings"

// split cuts a text into lines, each with its line feed; the last may lack one.
// Nothing but a line feed ends a line, as for git and patch.
func split(text string) []string {
	if text == "" {
		return nil
	}
	lines := make([]string, 0, strings.Count(text, "\n")+1)
	for text != "" {
		n := strings.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		lines = append(lines, text[:n])
		text = text[n:]
	}
	return lines
}

// number gives equal lines of both texts equal numbers.
func number(a, b []string) (x, y []int32) {
	known := make(map[string]int32, len(a))
	of := func(lines []string) []int32 {
		out := make([]int32, len(lines))
		for i, l := range lines {
			n, ok := known[l]
			if !ok {
				n = int32(len(known))
				known[l] = n
			}
			out[i] = n
		}
		return out
	}
	return of(a), of(b)
}
