package server

import (
	"slices"
	"strings"
)

const maxNearestLength = 64 // longer names are not typing mistakes

// didYouMean is a hint: the known name nearest to what was written, or all of
// them when none is near.
func didYouMean(written string, known []string) string {
	if len(known) == 0 {
		return "none is known here"
	}
	best := slices.MinFunc(known, func(a, b string) int { return distance(written, a) - distance(written, b) })
	if len(written) <= maxNearestLength && distance(written, best) <= 1+len(best)/2 {
		return "did you mean " + best + "?"
	}
	return "one of " + strings.Join(known, ", ")
}

// distance is Levenshtein's: insertions, deletions and replacements.
func distance(a, b string) int {
	if len(a) > maxNearestLength {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
