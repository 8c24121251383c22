package screen

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The checker of what a replay holds. It shares no code with the parser and
// knows only what is allowed, as expressions over the bytes.
var (
	replayTokens = regexp.MustCompile(`^(?:` + strings.Join([]string{
		`[\x20-\x7e]`, `[\x{a0}-\x{10ffff}]`, `\r`, `\x0e`, `\x0f`,
		`\x1b[78=>HnoNO]`, `\x1b[()*+][0AB]`,
		`\x1b\[[0-9;:]*m`,
		`\x1b\[[0-9;]*[HJCGXrg]`,
		`\x1b\[(?:4|20)[hl]`,
		`\x1b\[\?(?:1|5|6|7|9|12|25|47|1000|1002|1003|1004|1005|1006|1007|1015|1016|1049|2004|2026)[hl]`,
		`\x1b\[\?1;5;9;1000;1002;1003;1004;1005;1006;1015;1016;2004l`,
		`\x1b\[[0-6] q`,
		`\x1b\[<99u`, `\x1b\[>[0-9]+u`, `\x1b\[=[0-9]+;1u`,
		`\x1b\[>4(?:;[0-3])?m`,
		`\x1b\]8;(?:id=[!-:<-~]*)?;(?:https?://[!-~]+)?\x1b\\`,
	}, "|") + `)`)

	// What may stand at the end, where the stream was cut.
	replayEnd = regexp.MustCompile(`^(?:\x1b|\x1b[ -/]+|\x1b\[[ -?]*|\x1b\]7777;|\x1bP0z|\x1b\^)?$`)

	logTokens = regexp.MustCompile(`^(?:[\x20-\x7e]|[\x{a0}-\x{10ffff}]|[\r\n\t]|\x1b\[[0-9;:]*m)`)
)

// firstForbidden says what in a snapshot is not allowed.
func firstForbidden(b []byte) string {
	rest := strings.TrimPrefix(string(b), "\x18")
	for rest != "" {
		r, _ := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && !utf8.FullRuneInString(rest) {
			return "" // a character that is cut, at the end
		}
		if m := replayTokens.FindString(rest); m != "" {
			rest = rest[len(m):]
			continue
		}
		for cut := len(rest); cut >= max(0, len(rest)-3); cut-- { // a cut character in a cut sequence
			tail := rest[cut:]
			if replayEnd.MatchString(rest[:cut]) && (tail == "" || !utf8.FullRuneInString(tail)) {
				return ""
			}
		}
		return fmt.Sprintf("%q", rest[:min(len(rest), 40)])
	}
	return ""
}

func firstForbiddenInLog(b []byte) string {
	for len(b) > 0 {
		m := logTokens.Find(b)
		if m == nil || !utf8.Valid(m) {
			return fmt.Sprintf("%q", b[:min(len(b), 40)])
		}
		b = b[len(m):]
	}
	return ""
}

func TestCheckerFindsWhatIsForbidden(t *testing.T) {
	for _, bad := range []string{
		"\x1b]52;c;aGk=\a", "\x1b]0;title\a", "\x1b]11;?\a", "\x1b[c", "\x1b[>c", "\x1b[6n", "\x1bZ", "\x1bP$qm\x1b\\", "\x1b_x\x1b\\",
		"\x1b[21t", "\x1b[?1$p", "\u009b6n", "\x05", "\n", "\x1b]8;;file:///x\x1b\\", "\x1bc", "\x1b[!p", "\x1b[?2031h", "\x1b]7777;x\ay", "\x1b^x",
	} {
		if firstForbidden([]byte("text"+bad)) == "" {
			t.Errorf("%q passes in a replay", bad)
		}
	}
	for _, bad := range []string{"\x1b]52;c;aGk=\a", "\x1b[H", "\x1b[>4m", "\x1b[?25l", "\b", "\u009b1m", "\x9b", "\xff", "\x1b", "\x1b["} {
		if firstForbiddenInLog([]byte("text"+bad)) == "" {
			t.Errorf("%q passes in a log", bad)
		}
	}
}

var hostile = []string{
	"\x1b]52;c;aGVsbG8=\a", "\x1b]0;evil\a", "\x1b]2;evil\x1b\\", "\x1b]4;1;?\a", "\x1b]10;?\a\x1b]11;?\x1b\\", "\x1b]1337;File=:AAAA\a", "\x1b]50;?\a",
	"\x1b[c\x1b[>c\x1b[=c\x1b[5n\x1b[6n\x1b[?6n\x1b[18t\x1b[21t\x1b[?1$p\x1b[x\x1b[>q\x1b[?u\x1b[?4m", "\x1bZ\x05",
	"\x1bP$qm\x1b\\", "\x1bP+q544e\x1b\\", "\x1bP1000p", "\x1bPtmux;\x1b\x1b]52;c;AA\a\x1b\\", "\x1b_Ga=q\x1b\\", "\x1b^secret\x1b\\", "\x1bXsos\x1b\\",
	"\u009d52;c;AA\u009c", "\u009b6n", "\u0090$qm\u009c", "\x9b6n\x9d0;x\x9c", "\x1b]52;c;unterminated", "\x1bPunterminated", "\x1b_unterminated", "\x1b[1;2", "\x1b", "\xe2\x82",
	"\x1b]8;;https://a/\x1b[6n\x1b\\link", "\x1b]8;id=\x1b]52;;https://a\a", "\x1b]8;;javascript:alert(1)\alink", "\x1b]8;;https://é/\alink", "\x1b[4i\x1b[5i", "\x1b#6\x1b%@", "\x1b[?1001h\x1b[?2031h\x1b[?2048h", "\x1bk\x1b]52;x\a",
	strings.Repeat("\x1b[38;5;1", 500), "\x1b[" + strings.Repeat("1;", 5000) + "m", "\x1b]8;;https://" + strings.Repeat("a", 5000) + "\alink", "\x1b]0;" + strings.Repeat("é", 5000),
	"a" + strings.Repeat("\u0301", 500), "\x1b[99999999999999999999A\x1b[99999;99999H", "\x1b[99999b", "a\x1b[65535b", "\x1b[65535L\x1b[65535M\x1b[65535@\x1b[65535P\x1b[65535S\x1b[65535T\x1b[65535X\x1b[65535I\x1b[65535Z",
}

func TestHostileOutput(t *testing.T) {
	for _, h := range hostile {
		for cut := range min(len(h), 60) + 1 {
			s := New(10, 4)
			s.write([]byte("x" + h[:cut]))
			if f := firstForbidden(s.Snapshot()); f != "" {
				t.Errorf("snapshot after %q: %s", h[:cut], f)
			}
		}
		s := New(10, 4)
		s.write([]byte(h))
		if f := firstForbidden(s.Snapshot()); f != "" {
			t.Errorf("snapshot after %.60q: %s", h, f)
		}
		if f := firstForbiddenInLog(Sanitize(nil, []byte(h))); f != "" {
			t.Errorf("log of %.60q: %s", h, f)
		}
		checkInvariants(t, s)
	}
	if f := firstForbidden(bytes.ReplaceAll(Leave(), []byte("\x1b[!p"), nil)); f != "" {
		t.Errorf("Leave: %s", f)
	}
}

// checkInvariants looks for what no output may bring about.
func checkInvariants(t interface{ Errorf(string, ...any) }, s *Screen) {
	for _, c := range []cursor{s.cursor, s.saved[0], s.saved[1]} {
		if c.x < 0 || c.x >= s.cols || c.y < 0 || c.y >= s.rows || (c.wrap && c.x != s.cols-1) {
			t.Errorf("cursor %+v on %dx%d", c, s.cols, s.rows)
		}
	}
	if s.top < 0 || s.bottom >= s.rows || s.top > s.bottom || (s.origin && (s.y < s.top || s.y > s.bottom)) {
		t.Errorf("region %d-%d, row %d", s.top, s.bottom, s.y)
	}
	for i := range s.grids {
		for y := range s.grids[i].order {
			checkLine(t, s.grids[i].line(y))
		}
	}
	if len(s.raw) > maxOSC+1 || len(s.texts.text) > 2*s.cellCount()+64 || len(s.links.byIndex) > maxLinks {
		t.Errorf("kept %d bytes, %d clusters, %d links", len(s.raw), len(s.texts.text), len(s.links.byIndex))
	}
}

func checkLine(t interface{ Errorf(string, ...any) }, line []cell) {
	for x, c := range line {
		switch {
		case c.isWide() && (x+1 == len(line) || !line[x+1].isTail()):
			t.Errorf("first half without second in column %d", x)
		case c.isTail() && (x == 0 || !line[x-1].isWide()):
			t.Errorf("second half without first in column %d", x)
		case c.r == 0 && c.style != style{bg: c.bg}:
			t.Errorf("erased cell with attributes in column %d", x)
		}
	}
}

func FuzzWrite(f *testing.F) {
	for i, h := range hostile {
		f.Add([]byte(h), uint8(i), uint8(3*i), uint16(i))
	}
	f.Add([]byte(everyMode), uint8(80), uint8(24), uint16(100))
	f.Fuzz(func(t *testing.T, b []byte, cols, rows uint8, cut uint16) {
		s := New(int(cols), int(rows)%64)
		at := min(int(cut), len(b))
		s.write(b[:at])
		checkInvariants(t, s)
		snapshot := s.Snapshot()
		if bad := firstForbidden(snapshot); bad != "" {
			t.Fatalf("snapshot has %s", bad)
		}
		fresh := New(s.cols, s.rows)
		fresh.write(snapshot)
		if d := Diff(s, fresh); d != "" {
			t.Fatalf("fresh: %s", d)
		}
		loaded, err := Load(s.Save())
		if err != nil {
			t.Fatal(err)
		}
		s.write(b[at:])
		loaded.write(b[at:])
		if d := Diff(s, loaded); d != "" {
			t.Fatalf("loaded: %s", d)
		}
		s.Resize(int(rows), int(cols)%64)
		checkInvariants(t, s)
	})
}

func FuzzLoad(f *testing.F) {
	s := New(20, 5)
	s.write([]byte(everyMode))
	f.Add(s.Save()[len(magic)+4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		r := reader{b: b} // past the checksum, which hides everything
		if s := r.screen(); !r.bad {
			checkInvariants(t, s)
		}
	})
}

func FuzzSanitize(f *testing.F) {
	for i, h := range hostile {
		f.Add([]byte(h+"after\n"), uint16(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		at := min(int(cut), len(b))
		var z Sanitizer
		parts := z.End(z.Append(z.Append(nil, b[:at]), b[at:]))
		whole := Sanitize(nil, b)
		if !bytes.Equal(parts, whole) {
			t.Fatalf("cut at %d: %q and %q", at, parts, whole)
		}
		if bad := firstForbiddenInLog(whole); bad != "" {
			t.Fatalf("log has %s", bad)
		}
		if again := Sanitize(nil, whole); !bytes.Equal(bytes.TrimSuffix(again, []byte("\x1b[m")), bytes.TrimSuffix(whole, []byte("\x1b[m"))) && !bytes.HasPrefix(again, whole) {
			t.Fatalf("not stable: %q and %q", whole, again)
		}
	})
}
