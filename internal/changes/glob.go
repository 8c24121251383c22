package changes

import (
	"path"
	"slices"
	"strings"

	"github.com/coop-dev/coop/internal/sandbox"
)

// glob is a compiled pattern.
//
//	pattern        matches
//	.envrc         a file of this name in any directory
//	a/b            b in an a in any directory
//	/a             a at the top of the project only
//	*.pem  a?c     * and ? within one name, [a-z] as in the shell
//	a/**/b         b at any depth below an a
//	a/**           a and everything below it
//
// Letters match in either case when fold is set: on a filesystem that ignores
// case .GIT is .git.
type glob struct {
	text  string
	parts []part
	fold  bool
	end   bool // the only ** is its first part: it can only match at the end of a path
}

// part is a pattern for one name, or ** for any number of them.
type part struct {
	text string
	wild bool // has * ? [ or \ in it
}

func (p part) any() bool { return p.text == "**" }

func compile(pattern string, fold bool) glob {
	g := glob{text: pattern, fold: fold}
	if fold {
		pattern = lower(pattern)
	}
	p, anchored := strings.CutPrefix(pattern, "/")
	p = strings.TrimSuffix(p, "/")
	if !anchored && !strings.HasPrefix(p, "**/") {
		p = "**/" + p
	}
	for text := range strings.SplitSeq(p, "/") {
		g.parts = append(g.parts, part{text, strings.ContainsAny(text, `*?[\`)})
	}
	g.end = g.parts[0].any() && !slices.ContainsFunc(g.parts[1:], part.any)
	return g
}

func checkGlob(pattern string) error {
	for _, part := range strings.Split(pattern, "/") {
		if _, err := path.Match(part, ""); err != nil || pattern == "" {
			return sandbox.Errorf(sandbox.Invalid, "pattern %q cannot be understood", pattern).
				WithHint("names with *, ? and [a-z], and ** for any number of directories")
		}
	}
	return nil
}

// lower changes ASCII letters only: a name need not be UTF-8.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// named is a path in the form that globs look at.
type named struct{ exact, folded []string }

func name(p string) named {
	n := named{exact: strings.Split(p, "/")}
	n.folded = n.exact
	if l := lower(p); l != p {
		n.folded = strings.Split(l, "/")
	}
	return n
}

func (g glob) matches(n named) bool {
	names := n.exact
	if g.fold {
		names = n.folded
	}
	if g.end { // most are: a path may have two thousand parts, and a list a million paths
		rest := g.parts[1:]
		return len(names) >= len(rest) && match(rest, names[len(names)-len(rest):])
	}
	return match(g.parts, names)
}

// tree reports whether the pattern stands for everything below a directory of
// this name.
func (g glob) tree(n named) bool {
	last := len(g.parts) - 1
	if last < 1 || !g.parts[last].any() {
		return false
	}
	g.parts, g.end = g.parts[:last], last > 1 && g.parts[0].any()
	return g.matches(n)
}

// match compares part by part. A ** remembers where it stood and takes one part
// more each time the rest does not fit; only the last one need be remembered, so
// the time is bounded by the product of the lengths.
func match(parts []part, names []string) bool {
	star, resume := -1, 0
	i, j := 0, 0
	for j < len(names) {
		switch {
		case i < len(parts) && parts[i].any():
			star, resume = i, j
			i++
		case i < len(parts) && parts[i].matches(names[j]):
			i, j = i+1, j+1
		case star >= 0:
			resume++
			i, j = star+1, resume
		default:
			return false
		}
	}
	for i < len(parts) && parts[i].any() {
		i++
	}
	return i == len(parts)
}

func (p part) matches(name string) bool {
	if !p.wild {
		return p.text == name
	}
	ok, err := path.Match(p.text, name)
	return ok && err == nil
}
