package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestModesAreUndone(t *testing.T) {
	for output, want := range map[string]string{
		"text":                                 "",
		"\x1b[?1049h":                          "\x1b[?1049l",
		"\x1b[?1049h\x1b[?1049l":               "",
		"\x1b[?25;1049;2004h":                  "\x1b[?1049l",
		"\x1b[>1u\x1b[>3u\x1b[<u":              "\x1b[<1u",
		"\x1b[?1049h\x1b[>1u":                  "\x1b[<1u\x1b[?1049l",
		"\x1b[>1u\x1b[?1049h\x1b[=5;1u":        "\x1b[=0u\x1b[?1049l\x1b[<1u",
		"\x1b[<5u\x1b[?u":                      "",
		"\x1b[2;10r":                           "\x1b7\x1b[r\x1b8",
		"\x1b[2;10r\x1b[r":                     "",
		"\x1b[?1;2r":                           "",
		"\x1b[?2026h":                          "\x1b[?2026l",
		"\x1b[?6h":                             "\x1b[?6l",
		"\x1b[?6h\x1b[!p":                      "",
		"\x1b[4h\x1b[5 q":                      "\x1b[4l\x1b[0 q",
		"\x1b]11;red\x07":                      "\x1b]111\x1b\\",
		"\x1b]11;?\x1b\\":                      "",
		"\x1b]8;;http://x\x1b\\link":           "\x1b]8;;\x1b\\",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\a": "",
		"\x1b]0;\x1b[?1049h":                   "\x1b[?1049l", // a string ends at ESC that is no ST
		"\x1bP\x1b\\\x1b[?1049h\x1bc":          "",
		"\x1b]0;title":                         "\x1b\\", // unfinished: the terminal waits for its end
		"\x1b[?10":                             "\x18",
		"\x1b":                                 "\x18",
		"\x1b(0\x1b[?1049h":                    "\x1b[?1049l",
		"\x1b[?\x1849h":                        "",
		"\x1b[?" + strings.Repeat("1;", 100) + "1049h": "",
	} {
		for cut := range len(output) {
			m := &modeTracker{}
			_, _ = m.Write([]byte(output[:cut]))
			_, _ = m.Write([]byte(output[cut:]))
			got, always := strings.CutSuffix(string(m.undo()), undoAlways)
			if got != want || always != (output != "text") {
				t.Errorf("%q cut at %d: %q, want %q", output, cut, got, want)
			}
			if again := m.undo(); again != nil {
				t.Errorf("%q: %q the second time", output, again)
			}
		}
	}
}

func FuzzModes(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b]0;x\x1b[>1u"))
	f.Fuzz(func(t *testing.T, output []byte) {
		m := &modeTracker{}
		_, _ = m.Write(output)
		if len(m.seq) > maxSequence+1 {
			t.Fatalf("%d bytes of a sequence are kept", len(m.seq))
		}
		if undo := m.undo(); m.undo() != nil || len(undo) > 600 {
			t.Fatalf("%q", undo)
		}
	})
}

// Output that is mostly text costs little.
func BenchmarkModes(b *testing.B) {
	line := []byte(strings.Repeat("\x1b[32mok\x1b[m  some/path/of/a/test.go  0.01s and the rest of an ordinary line of output\r\n", 500))
	m := &modeTracker{}
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		_, _ = m.Write(line)
	}
}

func TestLogText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\r\n\ttext é 🐓":                      "plain\r\n\ttext é 🐓",
		"\x1b[1;31mred\x1b[m":                      "\x1b[1;31mred\x1b[m",
		"\x1b[38:2:1:2:3mx":                        "\x1b[38:2:1:2:3mx",
		"\x1b[2J\x1b[Ha\x1b[6nb":                   "ab",
		"\x1b[>4;2ma\x1b[?1mb":                     "ab",
		"\x1b]0;title\x07a\x1b]52;c;eA==\x1b\\b":   "ab",
		"\x1bPq#0\x1b\\a\x1b_x\x1b\\b":             "ab",
		"\x1b(Ba\x1b=b\x1bcc\x07\x08\x7f":          "abc",
		"\xc2\a\x9ba\x9b\xc3\xc3\xa9\xe2\x82":      "\ufffd\ufffda\ufffd\ufffdé",
		"\xc2\x9b2Ja\xc2\xa0b":                     "2Ja\xc2\xa0b",
		"\x1b[" + strings.Repeat("1;", 99) + "1mx": "x",
	} {
		for cut := range len(in) {
			var out bytes.Buffer
			l := &logText{w: &out, colours: true}
			_, _ = l.Write([]byte(in[:cut]))
			_, _ = l.Write([]byte(in[cut:]))
			if out.String() != want {
				t.Errorf("%q cut at %d: %q", in, cut, &out)
			}
		}
	}
	var out bytes.Buffer
	_, _ = (&logText{w: &out}).Write([]byte("\x1b[31mred\x1b[m"))
	if out.String() != "red" {
		t.Errorf("without colours: %q", &out)
	}
}

func FuzzLogText(f *testing.F) {
	f.Add([]byte("a\x1b[1mb\x1b]0;c\x07\xc2\x9b"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		_, _ = (&logText{w: &out}).Write(in)
		for _, b := range out.Bytes() {
			if b < ' ' && b != '\n' && b != '\r' && b != '\t' || b == 0x7f {
				t.Fatalf("%q shows %q", in, &out)
			}
		}
		for _, r := range out.String() {
			if r >= 0x80 && r <= 0x9f {
				t.Fatalf("%q shows %q", in, &out)
			}
		}
		if !utf8.Valid(out.Bytes()) {
			t.Fatalf("%q shows %q", in, &out)
		}
	})
}
