package cli

import "testing"

func TestPlainText(t *testing.T) {
	for in, want := range map[string]string{
		"hello\tworld\r\n":                 "hello\tworld\r\n",
		"\x1b[31mred\x1b[0m\n":             "red\n",
		"\x1b]0;title\atext\n":             "text\n",
		"\x1b]52;c;AAAA\x1b\\text\n":       "text\n",
		"\x1bcreset\n":                     "reset\n",
		"\x1bP1$q\x1b\\x\n":                "x\n",
		"\x00\b\x7f\u202ebell\a\n":         "bell\n",
		"bad \xff byte, é, no end":         "bad  byte, é, no end\n",
		"\x9b31m":                          "31m\n",
		"\x1b[38;2;1;2;3mcolour\x1b[K\r\n": "colour\r\n",
	} {
		whole, split := plainText{}, plainText{}
		if got := string(whole.clean([]byte(in))) + string(whole.end()); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		var parts string
		for i := range len(in) {
			parts += string(split.clean([]byte{in[i]}))
		}
		if parts += string(split.end()); parts != want {
			t.Errorf("%q in parts: %q, want %q", in, parts, want)
		}
	}
}

// Nothing that steers a terminal comes through, however it is cut.
func FuzzPlainText(f *testing.F) {
	f.Add([]byte("\x1b]0;t\a\x1b[31mx\u009b2J\n"), 3)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		var p plainText
		at := min(max(cut, 0), len(in))
		out := string(p.clean(in[:at])) + string(p.clean(in[at:]))
		for _, r := range out {
			if r != '\n' && r != '\t' && r != '\r' && hostile(r) {
				t.Fatalf("%q gives %q", in, out)
			}
		}
	})
}
