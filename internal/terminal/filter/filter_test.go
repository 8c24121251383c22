package filter

import (
	"bytes"
	"testing"
	"time"
)

// clock is time that the test moves.
type clock struct {
	now   time.Time
	timer func()
	at    time.Time
}

func (c *clock) after(d time.Duration, f func()) func() bool {
	c.timer, c.at = f, c.now.Add(d)
	return func() bool { c.timer = nil; return true }
}

func (c *clock) pass(d time.Duration) {
	c.now = c.now.Add(d)
	if f := c.timer; f != nil && !c.now.Before(c.at) {
		c.timer = nil
		f()
	}
}

func newTest(debounce time.Duration, block ...string) (*Filter, *clock, *bytes.Buffer) {
	c, out := &clock{now: time.Unix(1000, 0)}, &bytes.Buffer{}
	s := Settings{Debounce: debounce, Now: func() time.Time { return c.now }, After: c.after}
	for _, b := range block {
		s.Block = append(s.Block, []byte(b))
	}
	return New(s, func(p []byte) error { out.Write(p); return nil }), c, out
}

func TestCtrlCIsDebounced(t *testing.T) {
	f, c, out := newTest(500 * time.Millisecond)
	_ = f.Write([]byte("\x03\x03a\x03"))
	c.pass(499 * time.Millisecond)
	_ = f.Write([]byte("\x03b"))
	c.pass(time.Millisecond)
	_ = f.Write([]byte("\x03\x03c"))
	if out.String() != "\x03ab\x03c" {
		t.Errorf("%q", out)
	}
}

func TestBlockedSequences(t *testing.T) {
	for _, tt := range []struct {
		name  string
		block []string
		in    []string
		want  string
	}{
		{"one byte", []string{"\x04"}, []string{"a\x04b"}, "ab"},
		{"across pieces", []string{"\x1b[24~"}, []string{"x\x1b", "[2", "4~y"}, "xy"},
		{"a beginning that goes elsewhere", []string{"\x1b[24~"}, []string{"\x1b", "[2", "5~"}, "\x1b[25~"},
		{"a beginning within a beginning", []string{"aab"}, []string{"aa", "ab"}, "a"},
		{"one within another", []string{"abcd", "bc"}, []string{"abcx"}, "ax"},
		{"not made by dropping", []string{"ab"}, []string{"aabb"}, "a"},
		{"twice", []string{"ab"}, []string{"abab", "a", "b"}, ""},
		{"the shorter one wins", []string{"ab", "abc"}, []string{"abc"}, "c"},
		{"empty is nothing", []string{""}, []string{"x"}, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, _, out := newTest(0, tt.block...)
			for _, p := range tt.in {
				_ = f.Write([]byte(p))
			}
			if out.String() != tt.want {
				t.Errorf("%q, want %q", out, tt.want)
			}
		})
	}
}

func TestPartialMatchIsFlushed(t *testing.T) {
	f, c, out := newTest(0, "\x1b[A")
	_ = f.Write([]byte("\x1b"))
	c.pass(FlushAfter - 1)
	if out.Len() > 0 {
		t.Errorf("%q passed at once", out)
	}
	c.pass(1)
	if out.String() != "\x1b" {
		t.Errorf("%q", out)
	}
	_ = f.Write([]byte("[A")) // typed by hand, later
	if out.String() != "\x1b[A" {
		t.Errorf("%q", out)
	}
	_ = f.Write([]byte("\x1b"))
	f.Close()
	c.pass(time.Second)
	_ = f.Write([]byte("x"))
	if out.String() != "\x1b[A" {
		t.Errorf("%q passed a closed filter", out)
	}
}

func TestFlushDropsWhatIsBlockedWithin(t *testing.T) {
	f, c, out := newTest(0, "abcd", "bc")
	_ = f.Write([]byte("abc"))
	c.pass(FlushAfter)
	if out.String() != "a" {
		t.Errorf("%q", out)
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{`\x04`: "\x04", `\e[24~`: "\x1b[24~", `a\\b`: `a\b`, "\x04": "\x04", `\r\n\t`: "\r\n\t", "é": "é"} {
		if got, err := Parse(in); err != nil || string(got) != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, in := range []string{"", `\`, `\q`, `\x`, `\x0`, `\xzz`} {
		if got, err := Parse(in); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
	if _, err := ParseAll([]string{"a", `\q`}); err == nil {
		t.Error("no error")
	}
}

// Without pauses nothing blocked comes out, however the input is cut, and
// where it is cut does not matter.
func FuzzFilter(f *testing.F) {
	f.Add([]byte("aabb\x1b[A\x03\x03"), []byte("ab"), []byte("\x1b[A"), uint8(3))
	f.Fuzz(func(t *testing.T, in, b1, b2 []byte, cut uint8) {
		if len(b1) > 64 || len(b2) > 64 || len(in) > 4096 {
			return
		}
		whole, _, want := newTest(time.Minute, string(b1), string(b2))
		_ = whole.Write(in)
		pieces, c, got := newTest(time.Minute, string(b1), string(b2))
		for p := in; len(p) > 0; {
			n := min(len(p), int(cut)%7+1)
			_ = pieces.Write(p[:n])
			p = p[n:]
		}
		c.pass(FlushAfter - 1)
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%q in pieces, %q at once", got, want)
		}
		for _, b := range [][]byte{b1, b2} {
			if len(b) > 0 && bytes.Contains(got.Bytes(), b) {
				t.Errorf("%q passed in %q", b, got)
			}
		}
	})
}
