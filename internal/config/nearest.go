package config

import (
	"strings"
)

const maxNearest = 64 // what is longer is no typing mistake

// nearest is the known key that was probably meant, or "". A name that only
// stands in the wrong table is as near as one wrong letter.
func nearest(written string, known []string) string {
	best, least := "", len(written)
	for _, k := range known {
		if d := apart(written, k); d < least {
			best, least = k, d
		}
	}
	if len(written) > maxNearest || least > 1+len(last(written))/3 {
		return ""
	}
	return best
}

func apart(written, known string) int {
	d := distance(written, known)
	if l := distance(last(written), last(known)) + 1; l < d {
		d = l
	}
	return d
}

func last(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// distance is Levenshtein's: insertions, deletions and replacements.
func distance(a, b string) int {
	if len(a) > maxNearest {
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
