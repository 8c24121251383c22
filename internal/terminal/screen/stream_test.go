package screen

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Streams of output for the property tests: every sequence the emulator knows,
// many it does not, and plain garbage, weighted so that states get deep.

var (
	words    = rapid.StringMatching(`[ -~]{0,40}`)
	exotic   = rapid.SampledFrom([]string{"é", "e\u0301", "中", "漢字", "👍", "👩‍👩‍👧", "🇩🇪", "❤️", "\u0301", "\u200d", "️", "ﷺ", "─", "\u00a0", "\u00ad", "한", "a\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b"})
	controls = rapid.SampledFrom([]string{"\r\n", "\r\n", "\n", "\r", "\b", "\t", "\v", "\f", "\a", "\x00", "\x0e", "\x0f", "\x18", "\x1a", "\x7f", "\u0085", "\u0084", "\u008d"})
	escapes  = rapid.SampledFrom([]string{"\x1b7", "\x1b8", "\x1bD", "\x1bE", "\x1bH", "\x1bM", "\x1bN", "\x1bO", "\x1bn", "\x1bo", "\x1b=", "\x1b>", "\x1b(0", "\x1b(B", "\x1b)0", "\x1b*A", "\x1b+0", "\x1b#8", "\x1b%G", "\x1bZ", "\x1b\\", "\x1bk", "\x1b c"})
	finals   = rapid.SampledFrom(strings.Split("A B C D E F G H H H H I J K L M P S T X Z @ ` a b b d e f g h l m n r r s u t c q y", " "))
	private  = rapid.SampledFrom([]int{1, 3, 5, 6, 6, 7, 7, 7, 9, 12, 25, 47, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 1047, 1048, 1049, 1049, 2004, 2026, 4242})
	sgrs     = rapid.SampledFrom(strings.Split("0 1 2 3 4 5 6 7 8 9 21 22 23 24 25 27 28 29 31 37 39 42 49 53 55 93 105 38;5;200 48;5;17 38;2;1;2;3 48:2::9:8:7 38:2:4:5:6 58:5:9 58;2;250;1;2 58:2::3:4:5 59 4:0 4:1 4:2 4:3 4:4 4:5 4:9 38;5 48;2;1 38;5;999 1:2:3 999", " "))
	odd      = rapid.SampledFrom([]string{"\x1b[4h", "\x1b[4l", "\x1b[20h", "\x1b[20l", "\x1b[!p", "\x1b[2 q", "\x1b[6 q", "\x1b[>1u", "\x1b[>31u", "\x1b[<u", "\x1b[=5;1u", "\x1b[=2;2u", "\x1b[>4;2m", "\x1b[>4m", "\x1b[?u", "\x1b[?4m", "\x1b[5n", "\x1b[c", "\x1b[>c", "\x1b[1;2;3;4;5T", "\x1b[22;0t", "\x1b[23;0t", "\x1b[3\n1m", "\x1b[?2J", "\x1b[?K", "\u009b1m", "\x1b[1$y"})
	strs     = rapid.SampledFrom([]string{"\x1b]0;title\a", "\x1b]2;ti\x1b\\", "\x1b]8;;https://example.com/a\x1b\\", "\x1b]8;id=x;http://example.com/b\a", "\x1b]8;;file:///etc/passwd\a", "\x1b]8;;\a", "\x1b]52;c;aGk=\a", "\x1b]11;?\x1b\\", "\x1bPq#0;2\x1b\\", "\x1bP$qm\x1b\\", "\x1b_Gf=1\x1b\\", "\x1b^pm\x1b\\", "\x1bXsos\x1b\\", "\u009d0;c1\u009c", "\x1b]0;cut"})
	garbage  = rapid.SliceOfN(rapid.Byte(), 0, 12)
)

var number = rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(0, 12), rapid.IntRange(0, 70000))

func csiToken(t *rapid.T) string {
	n := rapid.IntRange(0, 3).Draw(t, "params")
	var p []string
	for range n {
		p = append(p, fmt.Sprint(number.Draw(t, "n")))
	}
	return "\x1b[" + strings.Join(p, ";") + finals.Draw(t, "final")
}

func token(t *rapid.T) string {
	switch rapid.IntRange(0, 12).Draw(t, "kind") {
	case 0, 1, 2:
		return words.Draw(t, "text")
	case 3:
		return exotic.Draw(t, "exotic")
	case 4:
		return controls.Draw(t, "control")
	case 5:
		return escapes.Draw(t, "escape")
	case 6, 7:
		return csiToken(t)
	case 8:
		return fmt.Sprintf("\x1b[?%d%c", private.Draw(t, "mode"), "hl"[rapid.IntRange(0, 1).Draw(t, "set")])
	case 9:
		return "\x1b[" + sgrs.Draw(t, "sgr") + ";" + sgrs.Draw(t, "sgr") + "m"
	case 10:
		return odd.Draw(t, "odd")
	case 11:
		return strs.Draw(t, "string")
	}
	return string(garbage.Draw(t, "garbage"))
}

func stream(t *rapid.T, label string) []byte {
	var b strings.Builder
	for range rapid.IntRange(0, 60).Draw(t, label) {
		b.WriteString(token(t))
	}
	return []byte(b.String())
}

// flood is output that scrolls, with few of the other sequences in it.
func flood(t *rapid.T) []byte {
	var b strings.Builder
	for range rapid.IntRange(10, 120).Draw(t, "lines") {
		switch rapid.IntRange(0, 20).Draw(t, "line") {
		case 0:
			b.WriteString(token(t))
		case 1, 2, 3:
			b.WriteString("\x1b[" + sgrs.Draw(t, "sgr") + "m")
		case 4:
			b.WriteString("\x1b[K\x1b[3C\x1b[2P\t\b")
		case 5:
			b.WriteString(exotic.Draw(t, "exotic"))
		}
		b.WriteString(words.Draw(t, "text"))
		b.WriteString(rapid.SampledFrom([]string{"\r\n", "\r\n", "\r\n", "\n", "\x1b[m\r\n"}).Draw(t, "end"))
	}
	return []byte(b.String())
}

func drawScreen(t *rapid.T) *Screen {
	return New(rapid.IntRange(1, 20).Draw(t, "cols"), rapid.IntRange(1, 8).Draw(t, "rows"))
}
