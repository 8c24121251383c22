package patch

import (
	"fmt"
	"strings"
)

// quote writes a name as git does: in C's notation when it holds a control
// character, a quotation mark, a backslash or a byte that is not ASCII.
func quote(name string) string {
	if strings.IndexFunc(name, unusual) < 0 {
		return name
	}
	return quoteAlways(name)
}

func unusual(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= 0x7f }

func quoteAlways(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= '\a' && c <= '\r':
			b.WriteByte('\\')
			b.WriteByte("abtnvfr"[c-'\a'])
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// label is a name after "--- " or "+++ ". patch(1) ends such a name at a blank
// unless a tab follows it; git writes one then.
func label(name string) string {
	if strings.Contains(name, " ") {
		return quote(name) + "\t"
	}
	return quote(name)
}
