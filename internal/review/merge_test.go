package review

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		base, ours, theirs, want string
		clean                    bool
	}{
		"nothing":              {"a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n", true},
		"ours only":            {"a\nb\n", "a\nB\n", "a\nb\n", "a\nB\n", true},
		"theirs only":          {"a\nb\n", "a\nb\n", "a\nB\n", "a\nB\n", true},
		"the same":             {"a\nb\n", "a\nB\n", "a\nB\n", "a\nB\n", true},
		"apart":                {"a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n", true},
		"one line apart":       {"a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", true},
		"touching":             {"a\nb\n", "A\nb\n", "a\nB\n", "", false},
		"the same line":        {"a\n", "b\n", "c\n", "", false},
		"both append":          {"a\n", "a\nb\n", "a\nc\n", "", false},
		"edit and removal":     {"a\nb\nc\n", "a\nB\nc\n", "a\nc\n", "", false},
		"no newline at end":    {"a\nb", "A\nx\ny\nb", "a\nb", "A\nx\ny\nb", true},
		"all removed and same": {"a\nb\n", "", "", "", true},
		"from nothing":         {"", "x\n", "", "x\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, clean := merge([]byte(c.base), []byte(c.ours), []byte(c.theirs))
			if clean != c.clean || string(got) != c.want {
				t.Errorf("%q, %v", got, clean)
			}
		})
	}
}

// TestMergeLikeGit: what we merge, git merges in the same way.
func TestMergeLikeGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir := t.TempDir()
	merged := 0
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n", "e\n", "f\n", "g\n", "\n"})
		base := rapid.SliceOfN(line, 0, 12).Draw(t, "base")
		edit := func(label string) string {
			text := append([]string(nil), base...)
			for range rapid.IntRange(0, 2).Draw(t, label) {
				at := rapid.IntRange(0, len(text)).Draw(t, label)
				to := rapid.IntRange(at, min(len(text), at+2)).Draw(t, label)
				fresh := rapid.SliceOfN(line, 0, 2).Draw(t, label)
				text = append(text[:at:at], append(fresh, text[to:]...)...)
			}
			return strings.Join(text, "")
		}
		b, x, y := strings.Join(base, ""), edit("ours"), edit("theirs")
		got, clean := merge([]byte(b), []byte(x), []byte(y))
		back, cleanBack := merge([]byte(b), []byte(y), []byte(x))
		if clean != cleanBack || string(got) != string(back) {
			t.Fatalf("the sides differ: %q %v, %q %v", got, clean, back, cleanBack)
		}
		if !clean || merged > 60 { // a process each
			return
		}
		merged++
		for name, text := range map[string]string{"base": b, "x": x, "y": y} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", "merge-file", "-p", "x", "base", "y")
		cmd.Dir = dir
		out, err := cmd.Output()
		if err == nil && string(out) != string(got) && !equivalent(b, x, y, string(out), string(got)) {
			t.Fatalf("base %q, ours %q, theirs %q: git has %q, we have %q", b, x, y, out, got)
		}
	})
}

// equivalent: with repeated lines there are several shortest ways to see a
// change; both results then hold the same lines.
func equivalent(_, _, _, a, b string) bool {
	x, y := splitLines(a), splitLines(b)
	count := map[string]int{}
	for _, l := range x {
		count[l]++
	}
	for _, l := range y {
		count[l]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
