package screen

import (
	"fmt"
	"strings"
	"testing"
)

// Each feature on a screen of 10x4: what is shown, where the cursor is.
func TestFeatures(t *testing.T) {
	for _, c := range []struct {
		name, in, text string
		x, y           int
	}{
		{"text", "hello", "hello\n", 5, 0},
		{"line ends", "a\r\nb\nc", "a\nb\n c\n", 2, 2},
		{"scroll", "1\r\n2\r\n3\r\n4\r\n5", "2\n3\n4\n5\n", 1, 3},
		{"autowrap", "0123456789ab", "0123456789\nab\n", 2, 1},
		{"wrap is put off", "0123456789\r", "0123456789\n", 0, 0},
		{"wrap is put off past SGR", "0123456789\x1b[1m!", "0123456789\n!\n", 1, 1},
		{"moving cancels the wrap", "0123456789\x1b[C!", "012345678!\n", 9, 0},
		{"no autowrap", "\x1b[?7l0123456789ab", "012345678b\n", 9, 0},
		{"wrap scrolls", "\x1b[4;10Hxy", "\n\n         x\ny\n", 1, 3},
		{"backspace", "abc\b\bX", "aXc\n", 2, 0},
		{"tab", "a\tb", "a       b\n", 9, 0},
		{"tab stops at the edge", "\t\t\tb", "         b\n", 9, 0},
		{"tab stop set and cleared", "\x1b[3g\x1b[4G\x1bH\r\tx", "   x\n", 4, 0},
		{"tab stop cleared", "\x1b[9G\x1b[g\r\tx", "         x\n", 9, 0},
		{"forward and back tabs", "\x1b[2Ix\x1b[Zy", "        yx\n", 9, 0},
		{"address", "\x1b[2;3Hx\x1b[;fy", "y\n  x\n", 1, 0},
		{"address is clamped", "\x1b[99;99Hx", "\n\n\n         x\n", 9, 3},
		{"moves", "\x1b[3B\x1b[4C\x1b[A\x1b[2Dx", "\n\n  x\n", 3, 2},
		{"lines down and up", "abc\x1b[2Ex\x1b[Fy", "abc\ny\nx\n", 1, 1},
		{"column and row", "\x1b[5Gx\x1b[3dy\x1b[2`z", "    x\n\n z   y\n", 2, 2},
		{"relative", "\x1b[2ax\x1b[ey", "  x\n   y\n", 4, 1},
		{"erase to the end of line", "abcdef\x1b[3G\x1b[K", "ab\n", 2, 0},
		{"erase to the start of line", "abcdef\x1b[3G\x1b[1K", "   def\n", 2, 0},
		{"erase line", "abcdef\x1b[3G\x1b[2K", "", 2, 0},
		{"erase below", "a\r\nbc\r\nd\x1b[2;2H\x1b[J", "a\nb\n", 1, 1},
		{"erase above", "a\r\nbc\r\nd\x1b[2;1H\x1b[1J", "\n c\nd\n", 0, 1},
		{"erase all", "a\r\nb\x1b[2J", "", 1, 1},
		{"erase scrollback", "a\x1b[3J", "a\n", 1, 0},
		{"ICH", "abcdef\x1b[3G\x1b[2@", "ab  cdef\n", 2, 0},
		{"DCH", "abcdef\x1b[3G\x1b[2P", "abef\n", 2, 0},
		{"ECH", "abcdef\x1b[3G\x1b[2X", "ab  ef\n", 2, 0},
		{"IL", "1\r\n2\r\n3\r\n4\x1b[2;2H\x1b[L", "1\n\n2\n3\n", 0, 1},
		{"DL", "1\r\n2\r\n3\r\n4\x1b[2;2H\x1b[M", "1\n3\n4\n", 0, 1},
		{"SU", "1\r\n2\r\n3\x1b[S", "2\n3\n", 1, 2},
		{"SD", "1\r\n2\r\n3\x1b[2T", "\n\n1\n2\n", 1, 2},
		{"REP", "ab\x1b[3b", "abbbb\n", 5, 0},
		{"REP after a move has nothing to repeat", "ab\r\x1b[3b", "ab\n", 0, 0},
		{"REP of line drawing", "\x1b(0q\x1b[2b", "───\n", 3, 0},
		{"huge REP", "a\x1b[65535b", "aaaaaaaaaa\naaaaaaaaaa\naaaaaaaaaa\naaaaaa\n", 6, 3},
		{"insert mode", "abc\r\x1b[4hX\x1b[4lY", "XYbc\n", 2, 0},
		{"newline mode", "\x1b[20hab\nc", "ab\nc\n", 1, 1},
		{"region scrolls", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nx", "1\n3\nx\n4\n", 1, 2},
		{"region of one row is refused", "\x1b[2;2rx", "x\n", 1, 0},
		{"below the region nothing scrolls", "1\x1b[1;2r\x1b[4;1H\n\nx", "1\n\n\nx\n", 1, 3},
		{"moves stop at the region", "\x1b[2;3r\x1b[3;1H\x1b[9Ax\x1b[9By", "\nx\n y\n", 2, 2},
		{"IL outside of the region", "1\r\n2\x1b[2;3r\x1b[1;1H\x1b[L", "1\n2\n", 0, 0},
		{"origin mode", "\x1b[2;3r\x1b[?6hx\x1b[9;1Hy", "\nx\ny\n", 1, 2},
		{"index and next line", "a\x1bDb\x1bEc", "a\n b\nc\n", 1, 2},
		{"reverse index", "a\x1bMb", " b\na\n", 2, 0},
		{"save and restore", "\x1b[2;3H\x1b7\x1b[H\x1b8x", "\n  x\n", 3, 1},
		{"restore without save is home", "ab\x1b8x", "xb\n", 1, 0},
		{"SCO save and restore", "\x1b[2;3H\x1b[s\x1b[H\x1b[ux", "\n  x\n", 3, 1},
		{"restored wrap", "0123456789\x1b7\x1b[H\x1b8x", "0123456789\nx\n", 1, 1},
		{"line drawing", "\x1b(0lqk\x1b(Blqk", "┌─┐lqk\n", 6, 0},
		{"shift out and in", "\x1b)0\x0ex\x0fx", "│x\n", 2, 0},
		{"locking shifts", "\x1b*0\x1bnx\x0fx", "│x\n", 2, 0},
		{"single shift", "\x1b*0\x1bNxx", "│x\n", 2, 0},
		{"pounds", "\x1b(A#", "£\n", 1, 0},
		{"wide", "a中b", "a中b\n", 4, 0},
		{"wide does not fit", "12345678中中", "12345678中\n中\n", 2, 1},
		{"wide at the edge", "123456789中", "123456789\n中\n", 2, 1},
		{"half of wide overwritten", "中文\x1b[2Gx", " x文\n", 2, 0},
		{"first half overwritten", "中文\x1b[Gx", "x 文\n", 1, 0},
		{"half of wide erased", "中文\x1b[2G\x1b[X", "  文\n", 1, 0},
		{"half of wide deleted", "中文x\x1b[2G\x1b[P", " 文x\n", 1, 0},
		{"combining", "e\u0301x", "e\u0301x\n", 2, 0},
		{"combining on wide", "中\u0301x", "中\u0301x\n", 3, 0},
		{"combining at the edge", "012345678e\u0301\u0302x", "012345678e\u0301\u0302\nx\n", 1, 1},
		{"combining on nothing", "\u0301x", "x\n", 1, 0},
		{"marks are bounded", "e" + strings.Repeat("\u0301", 99), "e" + strings.Repeat("\u0301", maxMarks) + "\n", 1, 0},
		{"emoji", "👍x", "👍x\n", 3, 0},
		{"flag", "🇩🇪x", "🇩🇪x\n", 3, 0},
		{"not UTF-8", "a\xff\xe2\x82b\xc3", "a\uFFFD\uFFFDb\n", 4, 0},
		{"alternate screen", "main\x1b[?1049h\x1b[Halt", "alt\n", 3, 0},
		{"and back", "main\x1b[?1049h\x1b[Halt\x1b[?1049l!", "main!\n", 5, 0},
		{"alternate screen, 47", "main\x1b[?47h alt\x1b[?47l!", "main    !\n", 9, 0},
		{"alternate screen starts empty", "\x1b[?1049hx\x1b[?1049l\x1b[?1049h", "", 0, 0},
		{"alignment", "\x1b[2;3r\x1b#8", strings.Repeat("EEEEEEEEEE\n", 4), 0, 0},
		{"full reset", "\x1b[?1049h\x1b[2;3r\x1b[31mxx\x1bcy", "y\n", 1, 0},
		{"soft reset", "\x1b[2;3r\x1b[?6h\x1b[4hab\x1b[!p\x1b[2;1HX", "\nXb\n", 1, 1},
		{"C1", "a\u0085b\u009b1;1Hc\u009d0;t\u009cd", "cd\nb\n", 2, 0},
		{"controls inside of a sequence", "ab\x1b[1\r;3Hx", "abx\n", 3, 0},
		{"cancelled", "\x1b[31\x18mx\x1b]0;t\x1ax", "mxx\n", 3, 0},
		{"strings show nothing", "\x1bPq#1\x1b\\a\x1b_x\x1b\\b\x1b^x\x1b\\c\x1bXx\x1b\\d\x1b]9;x\ae", "abcde\n", 5, 0},
		{"unknown sequences show nothing", "\x1b[5n\x1b[c\x1b[>q\x1b[?1$p\x1b[18t\x1bZ\x1b[1;2'z\x1b[<1;2;3Mx", "x\n", 1, 0},
		{"malformed sequences", "\x1b[1 2mx\x1b[?é\x1b[3;Hy", "x\n\ny\n", 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(10, 4)
			s.write([]byte(c.in))
			if s.Text() != c.text || s.x != c.x || s.y != c.y {
				t.Errorf("got %q at %d,%d\nwant %q at %d,%d", s.Text(), s.x, s.y, c.text, c.x, c.y)
			}
			fresh := New(10, 4)
			fresh.write(s.Snapshot())
			if d := Diff(s, fresh); d != "" {
				t.Errorf("its snapshot: %s", d)
			}
			checkInvariants(t, s)
		})
	}
}

func TestStyles(t *testing.T) {
	for in, want := range map[string]string{
		"1;2;3;4;5;7;8;9;53":           "0;1;2;3;5;7;8;9;53;4",
		"1;31":                         "0;1;31",
		"":                             "",
		"1;0":                          "",
		"1;22":                         "",
		"3;23;4;24;5;25;7;27":          "",
		"8;28;9;29;53;55":              "",
		"6":                            "0;5",
		"21":                           "0;4:2",
		"4:3":                          "0;4:3",
		"4:3;4:0":                      "",
		"4:9":                          "",
		"31;44":                        "0;31;44",
		"91;104":                       "0;91;104",
		"31;39;44;49":                  "",
		"38;5;200;48;5;17":             "0;38;5;200;48;5;17",
		"38:5:200":                     "0;38;5;200",
		"38;2;1;2;3;1":                 "0;1;38;2;1;2;3",
		"38:2:1:2:3;1":                 "0;1;38;2;1;2;3",
		"48:2::1:2:3;1":                "0;1;48;2;1;2;3",
		"58;5;9":                       "0;58:5:9",
		"58:2::1:2:3":                  "0;58:2::1:2:3",
		"58:5:9;59":                    "",
		"38;5;256":                     "",
		"38;2;256;0;0":                 "",
		"38;5":                         "",
		"38;2;1;2":                     "",
		"38:5;1":                       "0;1",
		"38;7;1":                       "",
		"999;1":                        "0;1",
		"1:2:3;3":                      "0;1;3",
		strings.Repeat("1;", 99) + "3": "0;1",
	} {
		s := New(10, 4)
		s.write([]byte("\x1b[" + in + "mx"))
		if got := s.Cells()[0][0].SGR; got != want {
			t.Errorf("SGR %.40s: got %q, want %q", in, got, want)
		}
	}
}

func TestErasingKeepsTheBackground(t *testing.T) {
	for _, in := range []string{"\x1b[K", "\x1b[2J", "\x1b[X", "\x1b[@", "\x1b[P\x1b[9P", "\x1b[L", "\x1b[S\x1b[4S", "\x1b[T"} {
		s := New(10, 4)
		s.write([]byte("x\r\x1b[1;4;31;44m" + in))
		if got := s.Cells()[0][0]; got.SGR != "0;44" || !got.Erased {
			t.Errorf("after %q: %+v", in, got)
		}
	}
}

func TestModes(t *testing.T) {
	s := New(10, 4)
	s.write([]byte("\x1b[?1;5;1002;1006;1004;2004;12;1007h\x1b=\x1b[?25l\x1b[4 q\x1b[>4;2m\x1b[>5u\x1b[20h"))
	want := modes{
		newline: true, appCursor: true, keypad: true, reverseVideo: true, autowrap: true, hidden: true, focus: true, paste: true,
		mouse: 1002, mouseCode: 1006, blinking: on, altWheel: on, shape: 5, otherKeys: 2,
	}
	if s.modes != want {
		t.Errorf("set: %+v", s.modes)
	}
	if s.keyboard[onMain].flags[1] != 5 {
		t.Errorf("keyboard: %+v", s.keyboard)
	}
	snapshot := string(s.Snapshot())
	for _, seq := range []string{"\x1b[?1h", "\x1b[?5h", "\x1b[?1002h", "\x1b[?1006h", "\x1b[?1004h", "\x1b[?2004h", "\x1b[?12h", "\x1b=", "\x1b[4 q", "\x1b[>4;2m", "\x1b[>5u", "\x1b[20h"} {
		if !strings.Contains(snapshot, seq) {
			t.Errorf("snapshot lacks %q", seq)
		}
	}
	if !strings.HasSuffix(snapshot, "\x1b[?2026l") || strings.Contains(snapshot, "\x1b[?25h") {
		t.Errorf("snapshot shows the cursor or leaves output held back: %q", snapshot)
	}
	s.write([]byte("\x1b[?1003l\x1b[?1015l\x1b[!p\x1b[?5;1004;2004;12;1007l\x1b[ q\x1b[>4m\x1b[<u\x1b[20l"))
	if want := (modes{autowrap: true, blinking: off, altWheel: off, shape: 1}); s.modes != want {
		t.Errorf("reset: %+v", s.modes)
	}
}

func TestLeave(t *testing.T) {
	for _, in := range []string{"ab\r\ncd", "ab\r\ncd\x1b[?1049h\x1b[3;5H\x1b7\x1b[4;9Halt"} {
		s := New(10, 4)
		s.write([]byte("\x1b[31m" + in + "\x1b[>1u\x1b]8;;https://a\a\x1b(0\x1b[?1002;1006;2004;1;5h\x1b=\x1b[?25l\x1b[4h\x1b[5 q\x1b[>4;1m\x1b]0;cut"))
		s.write(Leave())
		if s.x != 2 || s.y != 1 || s.OnAlternate() || s.pen != (style{}) || s.sets != (charsets{}) {
			t.Errorf("after %q: %+v", in, s.cursor)
		}
		if want := (modes{autowrap: true, shape: 1}); s.modes != want || s.keyboard != [2]keyboard{} {
			t.Errorf("after %q: %+v %+v", in, s.modes, s.keyboard)
		}
	}
}

func TestTitles(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b]0;a\a":               "a",
		"\x1b]2;b\x1b\\":           "b",
		"\x1b]1;icon\a":            "",
		"\x1b]0;a\u202eb\u200bc\a": "abc",
		"\x1b]0; a\x01\tb \a":      "ab",
		"\x1b]0;\xff\a":            "\uFFFD",
		"\x1b]0;" + strings.Repeat("é", 300) + "\a":  strings.Repeat("é", maxTitle),
		"\x1b]0;" + strings.Repeat("x", 9000) + "\a": "",
		"\x1b]0;a\a\x1b[22;0t\x1b]0;b\a\x1b[23;0t":   "a",
		"\x1b]0;a\a\x1bc": "a",
	} {
		s := New(10, 4)
		s.write([]byte(in))
		if s.Title() != want {
			t.Errorf("%.40q: title %.40q", in, s.Title())
		}
		if strings.Contains(string(s.Snapshot()), "\x1b]0") || strings.Contains(string(s.Snapshot()), "\x1b]2;") {
			t.Errorf("%.40q: the snapshot has a title", in)
		}
	}
}

func TestLinks(t *testing.T) {
	for in, want := range map[string]string{
		"https://example.com/?a=b;c":             "https://example.com/?a=b;c",
		"http://example.com":                     "http://example.com",
		"file:///etc/passwd":                     "",
		"javascript:alert(1)":                    "",
		"https://ex ample.com":                   "",
		"https://é":                              "",
		"HTTPS://example.com":                    "",
		"https://" + strings.Repeat("a", maxURI): "",
	} {
		s := New(10, 4)
		s.write([]byte("\x1b]8;id=1;" + in + "\x1b\\x\x1b]8;;\x1b\\y"))
		row := s.Cells()[0]
		if row[0].Link != want || row[1].Link != "" {
			t.Errorf("%.40q: %+v", in, row[:2])
		}
	}
}

func TestLinksAreBounded(t *testing.T) {
	s := New(80, 24)
	for i := range 20_000 {
		s.write(fmt.Appendf(nil, "\x1b]8;;https://example.com/%d/%s\x1b\\x\x1b]8;;\x1b\\", i, strings.Repeat("a", i%200)))
	}
	if len(s.links.byIndex) > maxLinks || s.links.bytes > maxLinkBytes {
		t.Errorf("%d links of %d bytes", len(s.links.byIndex), s.links.bytes)
	}
	s.write([]byte("\x1b[2J\x1b[H"))
	for i := range sweepEvery + 1 {
		s.write(fmt.Appendf(nil, "\x1b[H\x1b]8;;https://example.org/%d\x1b\\x\x1b]8;;\x1b\\", i))
	}
	if got := s.Cells()[0][0].Link; got == "" {
		t.Error("no link after the old ones are gone")
	}
}

func TestClustersAreBounded(t *testing.T) {
	s := New(20, 5)
	for i := range 50_000 {
		s.write(fmt.Appendf(nil, "e%c", 0x300+i%64))
	}
	checkInvariants(t, s)
	if got := s.Cells()[0][0].Text; !strings.HasPrefix(got, "e") || len(got) != 3 {
		t.Errorf("after the sweeps: %q", got)
	}
}

func TestResize(t *testing.T) {
	for _, c := range []struct {
		name, in, text   string
		cols, rows, x, y int
	}{
		{"narrower", "0123456789", "01234\n", 5, 4, 4, 0},
		{"through a wide character", "0123中", "0123\n", 5, 4, 4, 0},
		{"wider", "ab", "ab\n", 20, 4, 2, 0},
		{"fewer rows below the cursor", "1\r\n2\r\n3\r\n4\x1b[H", "1\n2\n", 10, 2, 0, 0},
		{"fewer rows above the cursor", "1\r\n2\r\n3\r\n4", "3\n4\n", 10, 2, 1, 1},
		{"more rows", "1\r\n2", "1\n2\n", 10, 9, 1, 1},
		{"in the alternate screen", "\x1b[?1049h1\r\n2\r\n3\r\n4", "3\n4\n", 10, 2, 1, 1},
		{"the main screen behind it", "1\r\n2\r\n3\r\n4\x1b[?1049h\x1b[Hx", "x\n", 10, 2, 1, 0},
		{"resets the region", "\x1b[2;3r\x1b[2;1H", "", 10, 3, 0, 1},
		{"too small", "ab", "a\n", 0, -5, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(10, 4)
			s.write([]byte(c.in))
			s.Resize(c.cols, c.rows)
			if s.Text() != c.text || s.x != c.x || s.y != c.y || s.top != 0 || s.bottom != s.rows-1 {
				t.Errorf("got %q at %d,%d, region %d-%d\nwant %q at %d,%d", s.Text(), s.x, s.y, s.top, s.bottom, c.text, c.x, c.y)
			}
		})
	}
	s := New(10, 4)
	s.write([]byte("1\r\n2\r\n3\r\n4\x1b[?1049h"))
	s.Resize(10, 2)
	s.write([]byte("\x1b[?1049l!"))
	if s.Text() != "3\n4!\n" {
		t.Errorf("main screen after a resize behind it: %q", s.Text())
	}
	s = New(1<<30, 1<<30)
	if cols, rows := s.Size(); cols != MaxCols || rows != MaxRows {
		t.Errorf("huge: %dx%d", cols, rows)
	}
}

func TestAFaultCostsTheScreenOnly(t *testing.T) {
	s := New(10, 4)
	s.Write([]byte("text"))
	s.grids[onMain].order[0] = 999 // as a defect would
	s.Write([]byte("more"))
	if s.Faults() != 1 || s.Text() != "" {
		t.Errorf("faults %d, text %q", s.Faults(), s.Text())
	}
	s.Write([]byte("again"))
	if s.Text() != "again\n" {
		t.Errorf("text %q", s.Text())
	}
}

func TestLoadRefusesDamage(t *testing.T) {
	s := New(10, 4)
	s.write([]byte(everyMode))
	good := s.Save()
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1
		if _, err := Load(bad); err == nil {
			t.Fatalf("a flipped bit at %d is not noticed", i)
		}
		if _, err := Load(good[:i]); err == nil {
			t.Fatalf("cut at %d is not noticed", i)
		}
	}
}

func TestSanitize(t *testing.T) {
	for in, want := range map[string]string{
		"plain\r\n\ttext":                                        "plain\r\n\ttext",
		"\x1b[1;31mred\x1b[m":                                    "\x1b[1;31mred\x1b[m\x1b[m",
		"\x1b[38:2::1:2:3mx":                                     "\x1b[38:2::1:2:3mx\x1b[m",
		"a\x1b]0;title\ab\x1b]52;c;AA\x1b\\c":                    "abc",
		"a\x1b[2J\x1b[H\x1b[?1049h\x1b[6nb":                      "ab",
		"a\x1b[>4;2mb\x1b[?1mc\x1b[1 md":                         "abcd",
		"a\x1bP$qm\x1b\\b\x1b_x\x1b\\c\x1b^\x1b\\":               "abc",
		"a\bb\x07\x00\x7fc":                                      "abc",
		"\u009b31mx\u009d0;t\u009cy":                             "\x1b[31mxy\x1b[m",
		"a\xffb\xe2\x82":                                         "a\uFFFDb\uFFFD",
		"中文 👍 e\u0301":                                           "中文 👍 e\u0301",
		"a\x1b]0;never ends\nb":                                  "a\nb",
		"a\x1b(0b\x1b#8c\x1bcd":                                  "abcd",
		"a\x1b[1\n2mb":                                           "a\n\x1b[12mb\x1b[m",
		"a\x1b[31":                                               "a",
		"a\x1b[" + strings.Repeat("1;", 99) + "mb":               "ab",
		"a\x1bP" + strings.Repeat("x", maxDroppedString+1) + "b": "ab",
		"a\x1b]" + strings.Repeat("x", maxDroppedOSC+1) + "b":    "ab",
	} {
		if got := string(Sanitize(nil, []byte(in))); got != want {
			t.Errorf("%.60q: got %.60q, want %.60q", in, got, want)
		}
		var z Sanitizer
		var parts []byte
		for i := range len(in) {
			parts = z.Append(parts, []byte{in[i]})
		}
		if got := string(z.End(parts)); got != want {
			t.Errorf("%.60q byte by byte: got %.60q, want %.60q", in, got, want)
		}
	}
}
