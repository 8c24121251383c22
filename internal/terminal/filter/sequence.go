package filter

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a sequence as configuration writes it: characters stand for
// themselves, \xHH for a byte, \e for Escape, \a \b \t \n \r for what they are
// in C, \\ for a backslash.
func Parse(s string) ([]byte, error) {
	var out []byte
	for rest := s; rest != ""; {
		before, after, escaped := strings.Cut(rest, `\`)
		out = append(out, before...)
		if !escaped {
			break
		}
		b, n, err := unescape(after)
		if err != nil {
			return nil, fmt.Errorf("sequence %.64q: %w", s, err)
		}
		out, rest = append(out, b), after[n:]
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("sequence %.64q is empty", s)
	}
	return out, nil
}

// unescape reads what follows a backslash and how long it is.
func unescape(s string) (b byte, n int, err error) {
	if s == "" {
		return 0, 0, fmt.Errorf("ends with a backslash")
	}
	if i := strings.IndexByte(`eabtnr\`, s[0]); i >= 0 {
		return "\x1b\a\b\t\n\r\\"[i], 1, nil
	}
	if s[0] != 'x' || len(s) < 3 {
		return 0, 0, fmt.Errorf(`unknown escape \%c`, s[0])
	}
	v, err := strconv.ParseUint(s[1:3], 16, 8)
	if err != nil {
		return 0, 0, fmt.Errorf(`\x needs two hexadecimal digits`)
	}
	return byte(v), 3, nil
}

// ParseAll reads a list of sequences.
func ParseAll(list []string) ([][]byte, error) {
	out := make([][]byte, 0, len(list))
	for _, s := range list {
		b, err := Parse(s)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}
